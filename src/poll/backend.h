// backend.h: the contract of pollers: what each system supplies to wait for many file descriptors.
//
// A backend knows descriptors and tokens, no waiters: it reports what has become possible on which
// token, and poll_desc.h finds the waiters. One file per system implements it (epoll_linux.cc;
// kqueue_darwin.cc with kqueue.h). Tests have their own, which produces events on request.
//
// Edges, not levels: a descriptor is added once, for both directions, for as long as it is open. An
// event says that an operation may now be possible; the next one comes only after another change.
// add() reports what is possible at that moment, so earlier changes do not matter. Events may be
// spurious: the waiter tries, and waits for the next.
//
// Rejected:
// - Adding for one wait only (EPOLLONESHOT, poll): one more system call per wait.
// - Levels: events without a waiter repeat until a system call turns them off.
// - Completions (io_uring, IOCP): a buffer per idle connection, ten thousand for ten thousand. If
//   data is there, a call that copies it at once is as good.
//
// Threads: any, also during wait().
// See:     docs/netpoll.md, backend_test.cc
#pragma once

#include <cstdint>
#include <memory>

namespace weft::detail {

// What has become possible. hung_up: the peer has stopped sending, or an error or urgent data is
// pending. Reads may stop short of the end, and both directions wake to find the cause.
namespace poll_bits {
inline constexpr uint32_t readable = 1;
inline constexpr uint32_t writable = 2;
inline constexpr uint32_t hung_up = 4;
}  // namespace poll_bits

struct poll_event {
    uint64_t token;  // as passed to add()
    uint32_t what;   // poll_bits
};

inline constexpr uint32_t poll_batch = 128;  // most events of one wait

class poll_backend {
public:
    poll_backend() = default;
    poll_backend(const poll_backend&) = delete;
    poll_backend& operator=(const poll_backend&) = delete;
    virtual ~poll_backend() = default;

    // Called once, first. Returns 0 or an errno value.
    [[nodiscard]] virtual int open() noexcept = 0;

    // Reports events of fd with token, until it is removed or closed. Returns 0 or an errno value:
    // EPERM (cannot be waited for: a regular file, which never needs it), EEXIST (added already),
    // EBADF, ENOMEM, ENOSPC (the user's limit of watches).
    [[nodiscard]] virtual int add(int fd, uint64_t token) noexcept = 0;

    // Stops new events of fd. Events already fetched by wait() may still arrive. No effect if not
    // added.
    virtual void remove(int fd) noexcept = 0;

    // Waits for the first event until deadline_ns (0: does not wait; never: no limit). Returns the
    // number of events, at most poll_batch. 0: timeout, or interrupt().
    [[nodiscard]] virtual uint32_t wait(poll_event* events, int64_t deadline_ns) noexcept = 0;

    // Ends one current wait(), any of several, or else the next one with a deadline other than 0.
    // Several calls may end only one.
    virtual void interrupt() noexcept = 0;
};

// This system's backend, not opened yet; nullptr if out of memory.
[[nodiscard]] std::unique_ptr<poll_backend> make_poll_backend() noexcept;

}  // namespace weft::detail
