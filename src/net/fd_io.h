// fd_io.h: a system call on a descriptor that parks the green thread instead of blocking.
//
// The call is tried first. The descriptor joins a poller only at the first wait, so a connection
// that is served from received data needs none. I1 to I5: poll_side.h.
//
// Threads: any thread. See: docs/netpoll.md
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <weft/detail/fd_handle.h>
#include <weft/detail/wait.h>

#include "netpoll/poll_desc.h"

namespace weft::detail {

struct io_result {
    enum class how : uint8_t { done, failed, closed, timed_out, cancelled, expired };
    ssize_t count = 0;  // done: the result of the system call
    int error = 0;      // failed: errno
    how ended = how::done;
};

class fd_use {
public:
    fd_use(poll_desc* d, uint32_t generation) noexcept
        : d_(d), generation_(generation), entered_(d != nullptr && d->enter(generation)) {}

    ~fd_use() {
        if (entered_) d_->leave();
    }

    fd_use(const fd_use&) = delete;
    fd_use& operator=(const fd_use&) = delete;

    [[nodiscard]] bool entered() const noexcept { return entered_; }

    [[nodiscard]] bool is_closed() const noexcept { return !entered_ || !d_->is_open(generation_); }

    [[nodiscard]] poll_desc& desc() const noexcept { return *d_; }

private:
    poll_desc* d_;
    uint32_t generation_;
    bool entered_;
};

// Requires: the caller uses d. Returns 0 or errno's value.
[[nodiscard]] int add_to_poller_of_caller(poll_desc& d) noexcept;

// After EAGAIN from a call that had seen this count of edges: waits for an event. Returns true if
// the call should try again.
[[nodiscard]] bool await_fd(const fd_use& use,
                            poll_side& side,
                            uint32_t seen,
                            wait_reason reason,
                            int64_t deadline_ns,
                            io_result& result) noexcept;

// For calls whose short transfer does not mean that nothing is left (poll_side.h: drained).
inline constexpr auto may_leave_some = [](std::size_t) { return false; };

// Calls attempt(), a system call from os/fd_calls.h, until it would not block. Reads deadline()
// before each try, because other threads may change it, and does not try after it. drains(count):
// whether a call that moved count bytes has left nothing.
template <typename Drains, typename Attempt, typename Deadline>
io_result call_fd(const fd_use& use,
                  poll_side& side,
                  wait_reason reason,
                  Drains drains,
                  Attempt attempt,
                  Deadline deadline) noexcept {
    io_result result;
    for (;;) {
        const uint32_t seen = side.edges();  // I1
        if (use.is_closed()) return {-1, 0, io_result::how::closed};
        const int64_t deadline_ns = deadline();
        if (deadline_ns != never && now_ns() >= deadline_ns) {
            side.pass_on();  // an edge may have woken us: another caller may wait longer
            return {-1, 0, io_result::how::timed_out};
        }
        if (!side.is_drained(seen)) {
            const ssize_t count = attempt();  // I2
            if (count >= 0) {
                if (count != 0 && drains(static_cast<std::size_t>(count))) side.set_drained(seen);
                side.pass_on();
                return {count, 0, io_result::how::done};
            }
            if (count == -EINTR) continue;
            if (count != -EAGAIN) {
                side.pass_on();
                return {-1, static_cast<int>(-count), io_result::how::failed};
            }
        }
        if (!await_fd(use, side, seen, reason, deadline_ns, result)) return result;  // I3 to I5
    }
}

// These use the deadline of their direction.
template <typename Drains, typename Attempt>
io_result call_in(const fd_handle& h, Drains drains, Attempt attempt) noexcept {
    const fd_use use(h.desc(), h.generation());
    if (!use.entered()) return {-1, 0, io_result::how::closed};
    return call_fd(use, use.desc().in, wait_reason::fd_readable, drains, attempt, [&] { return h.read_deadline(); });
}

template <typename Drains, typename Attempt>
io_result call_out(const fd_handle& h, Drains drains, Attempt attempt) noexcept {
    const fd_use use(h.desc(), h.generation());
    if (!use.entered()) return {-1, 0, io_result::how::closed};
    return call_fd(use, use.desc().out, wait_reason::fd_writable, drains, attempt, [&] { return h.write_deadline(); });
}

}  // namespace weft::detail
