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
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <weft/detail/require.h>
#include <weft/net/buffer.h>

namespace weft::detail {

class byte_queue {
public:
    // capacity: bytes of the memory that is taken at first.
    explicit byte_queue(std::size_t capacity) noexcept : wanted_(capacity) {}

    // Leaves other empty.
    byte_queue(byte_queue&& other) noexcept
        : wanted_(other.wanted_),
          capacity_(std::exchange(other.capacity_, 0)),
          memory_(std::move(other.memory_)),
          first_(std::exchange(other.first_, 0)),
          last_(std::exchange(other.last_, 0)) {}

    byte_queue& operator=(byte_queue&& other) noexcept {
        byte_queue taken(std::move(other));
        std::swap(wanted_, taken.wanted_);
        std::swap(capacity_, taken.capacity_);
        std::swap(memory_, taken.memory_);
        std::swap(first_, taken.first_);
        std::swap(last_, taken.last_);
        return *this;
    }

    ~byte_queue() = default;

    [[nodiscard]] std::size_t capacity() const noexcept { return wanted_; }

    [[nodiscard]] bool empty() const noexcept { return first_ == last_; }

    [[nodiscard]] std::size_t size() const noexcept { return last_ - first_; }

    [[nodiscard]] std::string_view unread() const noexcept { return {memory_.get() + first_, size()}; }

    // Whether text begins in the memory, which make_room() changes.
    [[nodiscard]] bool holds(std::string_view text) const noexcept {
        return reinterpret_cast<uintptr_t>(text.data()) - reinterpret_cast<uintptr_t>(memory_.get()) < capacity_;
    }

    // Removes the oldest n bytes. Requires: n <= size().
    void consume(std::size_t n) noexcept;

    // Returns the free memory behind the unread bytes: enough for total bytes with these. If little
    // is left there, moves the unread bytes to the front, or takes at least twice the memory, so
    // that a byte is moved a few times at most. Throws std::bad_alloc, with nothing changed.
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
