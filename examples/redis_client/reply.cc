#include "reply.h"

namespace redis_client {

namespace {

// The recursion is bounded: hiredis refuses replies with more than 7 nested arrays.
void write(const redisReply& r, std::string& to) {
    switch (r.type) {
        case REDIS_REPLY_NIL:
            to += "(nil)";
            break;
        case REDIS_REPLY_INTEGER:
            to += std::to_string(r.integer);
            break;
        case REDIS_REPLY_ERROR:
            to.append("(error) ").append(r.str, r.len);
            break;
        case REDIS_REPLY_ARRAY:
            for (std::size_t i = 0; i < r.elements; ++i) {
                if (i != 0) to += '\n';
                write(*r.element[i], to);
            }
            if (r.elements == 0) to += "(empty)";
            break;
        default:
            to.append(r.str, r.len);
            break;  // strings and statuses
    }
}

}  // namespace

std::string reply::to_string() const {
    std::string text;
    write(*root_, text);
    return text;
}

}  // namespace redis_client
