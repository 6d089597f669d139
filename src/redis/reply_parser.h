// reply_parser.h: parses replies, by the reader of hiredis.
//
// The reader parses what has arrived so far, and calls back for each value. The callbacks build a
// weft::redis::reply, so a value is stored once. An array grows with the elements that arrive: the
// number that the server announces allocates nothing.
//
// Threads: one green thread at a time. No call waits.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <weft/redis/reply.h>

namespace weft::redis::detail {

class reply_parser {
public:
    // Throws std::bad_alloc.
    reply_parser();

    // Adds bytes that have arrived. Throws std::bad_alloc.
    void feed(std::string_view bytes);

    // Returns the next complete reply, if there is one. Throws std::system_error with
    // errc::bad_reply.
    [[nodiscard]] std::optional<reply> next();

    // Whether every byte that has arrived belongs to a reply that next() has returned.
    [[nodiscard]] bool is_empty() const noexcept { return reader_->pos == reader_->len && reader_->ridx < 0; }

    // Appends an element to an array. The result stays where it is until the next one is appended;
    // by then the reader has done with it.
    static reply* append(reply& to, reply element) {
        to.elements_.push_back(std::move(element));
        return &to.elements_.back();
    }

private:
    struct free_it {
        void operator()(redisReader* r) const noexcept { redisReaderFree(r); }
    };

    std::unique_ptr<redisReader, free_it> reader_;
};

}  // namespace weft::redis::detail
