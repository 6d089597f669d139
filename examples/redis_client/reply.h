// reply.h: a reply of the server: owns a tree of hiredis.
#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace redis_client {

class reply {
public:
    // Takes ownership of r.
    explicit reply(redisReply* r) noexcept : root_(r) {}

    [[nodiscard]] bool is_error() const noexcept { return root_->type == REDIS_REPLY_ERROR; }

    [[nodiscard]] bool is_nil() const noexcept { return root_->type == REDIS_REPLY_NIL; }

    [[nodiscard]] bool is_integer() const noexcept { return root_->type == REDIS_REPLY_INTEGER; }

    [[nodiscard]] long long integer() const noexcept { return root_->integer; }

    // The text of a string, a status ("OK") or an error; otherwise empty. Valid as long as the
    // reply.
    [[nodiscard]] std::string_view text() const noexcept { return text_of(*root_); }

    // The number of elements of an array; otherwise 0.
    [[nodiscard]] std::size_t size() const noexcept { return root_->type == REDIS_REPLY_ARRAY ? root_->elements : 0; }

    // The text of an element of an array.
    [[nodiscard]] std::string_view text(std::size_t element) const noexcept {
        return text_of(*root_->element[element]);
    }

    // Formats the reply like redis-cli whose output is not a terminal: one plain value per line,
    // "(nil)", "(error) …".
    [[nodiscard]] std::string to_string() const;

private:
    struct free_it {
        void operator()(redisReply* r) const noexcept { freeReplyObject(r); }
    };

    static std::string_view text_of(const redisReply& r) noexcept {
        const bool has_text =
            r.type == REDIS_REPLY_STRING || r.type == REDIS_REPLY_STATUS || r.type == REDIS_REPLY_ERROR;
        return has_text ? std::string_view(r.str, r.len) : std::string_view();
    }

    std::unique_ptr<redisReply, free_it> root_;
};

}  // namespace redis_client
