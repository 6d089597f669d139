// reply_parser.cc: see reply_parser.h.
#include "redis/reply_parser.h"

#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace weft::redis::detail {

namespace {

// Keeps a value that was parsed, and returns its address, which is the parent of its elements.
// hiredis is C: no exception may pass through it. nullptr makes it report that there is no memory.
template <typename Make>
void* place(const redisReadTask* task, Make make) noexcept {
    try {
        if (task->parent == nullptr) return new reply(make());  // next() takes it
        return reply_parser::append(*static_cast<reply*>(task->parent->obj), make());
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

reply::kind kind_of(int type) noexcept {
    switch (type) {
        case REDIS_REPLY_ERROR:
            return reply::kind::error;
        case REDIS_REPLY_STATUS:
            return reply::kind::status;
        default:
            return reply::kind::text;
    }
}

void* make_text(const redisReadTask* task, char* text, std::size_t size) noexcept {
    return place(task, [&] { return reply::of_text(kind_of(task->type), std::string(text, size)); });
}

// The type of the number of elements differs between versions of hiredis.
template <typename Size>
void* make_array(const redisReadTask* task, Size /*elements*/) noexcept {
    return place(task, [] { return reply::of_array({}); });
}

void* make_integer(const redisReadTask* task, long long value) noexcept {
    return place(task, [&] { return reply::of_integer(value); });
}

void* make_nil(const redisReadTask* task) noexcept {
    return place(task, [] { return reply(); });
}

#if HIREDIS_MAJOR >= 1
// Kinds of RESP3, which a server sends after HELLO 3. Without these functions hiredis would return
// the number of the kind as a pointer.
void* make_double(const redisReadTask* task, double /*value*/, char* text, std::size_t size) noexcept {
    return make_text(task, text, size);
}

void* make_bool(const redisReadTask* task, int value) noexcept { return make_integer(task, value); }
#endif

void free_reply(void* of) noexcept { delete static_cast<reply*>(of); }

redisReplyObjectFunctions the_functions() noexcept {
    redisReplyObjectFunctions f{};
    f.createString = make_text;
    f.createArray = make_array;
    f.createInteger = make_integer;
    f.createNil = make_nil;
#if HIREDIS_MAJOR >= 1
    f.createDouble = make_double;
    f.createBool = make_bool;
#endif
    f.freeObject = free_reply;
    return f;
}

}  // namespace

reply_parser::reply_parser() {
    static redisReplyObjectFunctions functions = the_functions();
    reader_.reset(redisReaderCreateWithFunctions(&functions));
    if (!reader_) throw std::bad_alloc();
}

void reply_parser::feed(std::string_view bytes) {
    if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) throw std::bad_alloc();
}

std::optional<reply> reply_parser::next() {
    void* parsed = nullptr;
    if (redisReaderGetReply(reader_.get(), &parsed) != REDIS_OK) {
        throw std::system_error(errc::bad_reply, std::string("weft: Redis: ") + reader_->errstr);
    }
    if (parsed == nullptr) return std::nullopt;
    const std::unique_ptr<reply> root(static_cast<reply*>(parsed));
    return std::move(*root);
}

}  // namespace weft::redis::detail
