// chan.h: a channel whose element size is given when it is made.
//
// The protocol, invariants and order are those of chan_state<T> (weft/chan.h). Elements are bytes.
// A waiter's slot is the caller's own memory, so an element moves directly from the sender's
// variable into the receiver's.
//
// Threads: any thread. See: weft/run/chan.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <weft/detail/chan_state.h>
#include <weft/detail/select_case.h>
#include <weft/run/chan.h>

struct run_chan : weft::detail::chan_core {
    // The channel and its slots are one block; nullptr if there is no memory.
    static run_chan* create(std::size_t elem_size, std::size_t cap) noexcept;

    void retain() noexcept { handles.fetch_add(1, weft::detail::relaxed); }  // relaxed: the caller holds a handle

    void drop() noexcept;

    // deadline_ns 0: do not wait.
    run_status_t send(const void* value, int64_t deadline_ns) noexcept;
    run_status_t recv(void* value, int64_t deadline_ns) noexcept;

    run_status_t close() noexcept;

    // As in chan_state.
    bool begin_send(const void* value, weft::detail::waiter*& partner, bool& ok) noexcept;
    void finish_send(const void* value, weft::detail::waiter& partner) const noexcept;
    bool begin_recv(void* value, weft::detail::waiter*& partner, bool& ok) noexcept;
    void finish_recv(void* value, weft::detail::waiter& partner) const noexcept;

    const std::size_t elem_size;

private:
    run_chan(std::size_t size, std::size_t cap) noexcept : chan_core(cap), elem_size(size) {}

    [[nodiscard]] std::byte* slot(std::size_t index) noexcept {
        return reinterpret_cast<std::byte*>(this + 1) + index * elem_size;
    }

    [[nodiscard]] std::size_t wrap(std::size_t index) const noexcept {
        return index >= capacity ? index - capacity : index;
    }

    // to may be nullptr.
    void copy(void* to, const void* from) const noexcept {
        if (to == nullptr) return;
        if (elem_size == sizeof(void*)) [[likely]] {
            std::memcpy(to, from, sizeof(void*));
        } else if (elem_size != 0) {
            std::memcpy(to, from, elem_size);
        }
    }

    void put_tail(const void* value) noexcept {
        copy(slot(wrap(head + count)), value);
        ++count;
    }

    void take_head(void* value) noexcept {
        copy(value, slot(head));
        head = head + 1 == capacity ? 0 : head + 1;
    }

    void refill(weft::detail::waiter& sender) noexcept;
    run_status_t block(weft::detail::wait_queue& queue,
                       void* value,
                       weft::detail::wait_reason reason,
                       int64_t deadline_ns) noexcept WEFT_RELEASE(lock);
};

namespace weft::detail {

struct byte_recv_case {
    static const select_ops ops;
    static void prepare(select_case& c, run_chan* from, void* value) noexcept;
};

struct byte_send_case {
    static const select_ops ops;
    static void prepare(select_case& c, run_chan* to, const void* value) noexcept;
};

}  // namespace weft::detail
