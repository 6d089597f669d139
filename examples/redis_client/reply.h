// reply.h: what the server has answered: hiredis' tree, owned.
#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace redis_client {

class reply {
public:
    // Takes it over.
    explicit reply(redisReply* r) noexcept : root_(r) {}

    [[nodiscard]] bool is_error() const noexcept { return root_->type == REDIS_REPLY_ERROR; }

    [[nodiscard]] bool is_nil() const noexcept { return root_->type == REDIS_REPLY_NIL; }

    [[nodiscard]] bool is_integer() const noexcept { return root_->type == REDIS_REPLY_INTEGER; }

    [[nodiscard]] long long integer() const noexcept { return root_->integer; }

    // Of a string, a status ("OK") or an error; else empty. Valid as long as the reply.
    [[nodiscard]] std::string_view text() const noexcept { return text_of(*root_); }

    // Of an array; else 0.
    [[nodiscard]] std::size_t size() const noexcept { return root_->type == REDIS_REPLY_ARRAY ? root_->elements : 0; }

    // The text of an element of an array.
    [[nodiscard]] std::string_view text(std::size_t element) const noexcept {
        return text_of(*root_->element[element]);
    }

    // As redis-cli writes it where nobody looks: values as they are, a line each; "(nil)", "(error) …".
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
