// byte_queue.h: bytes in the order they came, in one piece of memory.
//
//          first_       last_        capacity
//     ┌──────┬────────────┬──────────────┐
//     │ free │   unread   │     free     │
//     └──────┴────────────┴──────────────┘
//
// Bytes that were consumed stay where they are until make_room(), so a view of them is valid until
// then. Memory is taken at the first make_room(): a queue that is never filled costs none.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <weft/detail/require.h>
#include <weft/net/buffer.h>

namespace weft::detail {

class byte_queue {
public:
    // capacity: bytes of the memory that is taken at first.
    explicit byte_queue(std::size_t capacity) noexcept : wanted_(capacity) {}

    [[nodiscard]] std::size_t capacity() const noexcept { return wanted_; }

    [[nodiscard]] bool empty() const noexcept { return first_ == last_; }

    [[nodiscard]] std::size_t size() const noexcept { return last_ - first_; }

    [[nodiscard]] std::string_view unread() const noexcept { return {memory_.get() + first_, size()}; }

    // Removes the oldest n bytes. Requires: n <= size().
    void consume(std::size_t n) noexcept;

    // Returns free memory for at least one byte, behind the unread ones; all of it, if they are at
    // most total bytes with it. Moves the unread bytes, or takes more memory, at least doubled, if
    // there is no room for total. Throws std::bad_alloc, with nothing changed.
    // Requires: total > size().
    [[nodiscard]] net::mutable_buffer make_room(std::size_t total);

    // Appends the first n bytes of the memory that make_room() has returned.
    void append(std::size_t n) noexcept;

private:
    std::size_t wanted_;
    std::size_t capacity_ = 0;  // of memory_
    std::unique_ptr<char[]> memory_;
    std::size_t first_ = 0;
    std::size_t last_ = 0;
};

}  // namespace weft::detail
