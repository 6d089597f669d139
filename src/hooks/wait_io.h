// wait_io.h: how calls of weft::hooks wait: what a descriptor says about blocking, and loops around
// a try.
//
// Threads: a green thread that may park (detail::may_park), unless marked.
// See:     docs/hooks.md
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "hooks/real.h"
#include "net/foreign_wait.h"

namespace weft::hooks {

using detail::foreign_end;
using detail::foreign_fd;
using detail::foreign_fds;
using detail::is_own_fd;
using detail::may_park;

// Whether the program has made fd non-blocking.
[[nodiscard]] bool is_nonblocking(int fd) noexcept;

// When a call that begins now gives up, by the socket's SO_RCVTIMEO or SO_SNDTIMEO.
[[nodiscard]] int64_t deadline_of_socket(int fd, bool writes) noexcept;

// The deadline after that many nanoseconds.
[[nodiscard]] int64_t deadline_after(int64_t ns) noexcept;

// errno for a wait that has ended without an event. timed_out: what the call has at its own
// timeout.
[[nodiscard]] int error_of(foreign_end end, int timed_out) noexcept;

// Whether poll() finds one of events on fd now. Errors count.
[[nodiscard]] bool is_ready(int fd, short events) noexcept;

// Calls attempt(), a system call on fd that does not block, until its result is not EAGAIN.
// Returns its result, or -1 and errno. attempt has been called once, with EAGAIN, on a descriptor
// that is not non-blocking.
template <typename Attempt>
ssize_t wait_and_try(int fd, bool writes, int64_t deadline_ns, Attempt attempt) noexcept {
    foreign_fd waits(fd, writes);
    for (;;) {
        waits.begin();
        const ssize_t result = attempt();
        if (result >= 0 || last_error() != EAGAIN) return result;
        const foreign_end end = waits.wait(deadline_ns);
        if (end != foreign_end::again) return fail(error_of(end, EAGAIN));
    }
}

// attempt() first without any of that. Requires: a socket.
template <typename Attempt>
ssize_t call_socket(int fd, bool writes, Attempt attempt) noexcept {
    const ssize_t result = attempt();
    if (result >= 0 || last_error() != EAGAIN || is_nonblocking(fd)) [[likely]]
        return result;
    return wait_and_try(fd, writes, deadline_of_socket(fd, writes), attempt);
}

}  // namespace weft::hooks
