// fd_io.h: a call on a file descriptor that does not block its thread: tries, and where the system says "not now", waits as a green thread does.
//
// Trying first costs nothing where there is something already, and the descriptor is only added to a poller when somebody waits for it for
// the first time: a connection that is served from what has arrived needs none. The steps I1 to I5 are those of poll_side.h.
//
// Who: any thread. See: docs/netpoll.md
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <weft/detail/fd_handle.h>
#include <weft/detail/wait.h>

#include "poll/poll_desc.h"

namespace weft::detail {

// How a call has ended.
struct io_result {
    enum class how : uint8_t { done, failed, closed, timed_out, cancelled, expired };
    ssize_t count = 0;  // done: what the system call returned
    int error = 0;      // failed: errno
    how ended = how::done;
};

// A use of a descriptor, by one call.
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

    // Whether it has been closed since.
    [[nodiscard]] bool is_closed() const noexcept { return !entered_ || !d_->is_open(generation_); }

    [[nodiscard]] poll_desc& desc() const noexcept { return *d_; }

private:
    poll_desc* d_;
    uint32_t generation_;
    bool entered_;
};

// Sees to it that events of d come, if they do not already. By a user of d. Returns 0 or an errno value.
[[nodiscard]] int add_to_poller_of_caller(poll_desc& d) noexcept;

// After the system has said "not now" to a call that had seen so many edges: sees to it that events come, and waits for one. True: try
// again.
[[nodiscard]] bool await_fd(const fd_use& use,
                            poll_side& side,
                            uint32_t seen,
                            wait_reason reason,
                            int64_t deadline_ns,
                            io_result& result) noexcept;

// Whether a call that moved so many bytes has left nothing (poll_side.h: drained), of a call of which nobody knows.
inline constexpr auto may_leave_some = [](std::size_t) { return false; };

// Calls attempt(), a system call from os/fd_calls.h, until it does not say that it would block. deadline() is asked before
// each try, as it may be changed by others; a call whose time is up does not try. drains(count): after one that moved count bytes, as above.
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
            side.pass_on();  // an edge may have woken us: another one may wait longer
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

// A call of its own on what h owns, in one direction, until the deadline set for that.
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
