// input.h: what has arrived on a connection and is not parsed yet, in one piece of memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include <weft/net/buffer.h>

namespace weft::http::detail {

class input {
public:
    static constexpr std::size_t least = 4096;  // free bytes that room() has

    [[nodiscard]] std::string_view text() const noexcept { return {memory_.data() + begin_, end_ - begin_}; }

    [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }

    [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }

    // Where to read more to. Throws std::bad_alloc.
    [[nodiscard]] net::mutable_buffer room() {
        if (begin_ != 0) {
            std::memmove(memory_.data(), memory_.data() + begin_, end_ - begin_);
            end_ -= begin_;
            begin_ = 0;
        }
        if (memory_.size() - end_ < least) memory_.resize(std::max(2 * memory_.size(), end_ + least));
        return {memory_.data() + end_, memory_.size() - end_};
    }

    // The same, exactly size bytes, if nothing is kept. Other memory is given back.
    [[nodiscard]] net::mutable_buffer room_of(std::size_t size) {
        if (memory_.size() != size) std::vector<char>(size).swap(memory_);
        return {memory_.data(), size};
    }

    // Counts what was read to room().
    void add(std::size_t bytes) noexcept { end_ += bytes; }

    void consume(std::size_t bytes) noexcept {
        begin_ += bytes;
        if (begin_ == end_) begin_ = end_ = 0;
    }

private:
    std::vector<char> memory_ = std::vector<char>(least);
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace weft::http::detail
