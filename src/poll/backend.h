// backend.h: the contract of pollers: what each system supplies to wait for many file descriptors.
//
// A backend reports what has become possible on which token; poll_desc.h finds the waiters.
//
// Edges, not levels: a descriptor is added once, for both directions, for as long as it is open. An
// event says that an operation may now be possible; the next one comes only after another change.
// add() reports what is possible at that moment. Events may be spurious. A backend may report the
// next change only after an operation found nothing or moved less than asked (afd_windows.cc).
//
// Rejected:
// - Adding for one wait only (EPOLLONESHOT, poll): one more system call per wait.
// - Levels: events without a waiter repeat until a system call turns them off.
// - Completions (io_uring, IOCP): a buffer per idle connection.
//
// Threads: any, also during wait().
// See:     docs/netpoll.md, backend_test.cc, afd_windows_test.cc
#pragma once

#include <cstdint>
#include <memory>

namespace weft::detail {

// hung_up: the peer has stopped sending, or an error or urgent data is pending. Reads may stop
// short of the end, and both directions wake to find the cause.
namespace poll_bits {
inline constexpr uint32_t readable = 1;
inline constexpr uint32_t writable = 2;
inline constexpr uint32_t hung_up = 4;
}  // namespace poll_bits

struct poll_event {
    uint64_t token;
    uint32_t what;  // poll_bits
};

inline constexpr uint32_t poll_batch = 128;  // most events of one wait

class poll_backend {
public:
    poll_backend() = default;
    poll_backend(const poll_backend&) = delete;
    poll_backend& operator=(const poll_backend&) = delete;
    virtual ~poll_backend() = default;

    // Called first, once. Returns 0 or an errno value.
    [[nodiscard]] virtual int open() noexcept = 0;

    // Reports events of fd with token, until it is removed or closed. Returns 0 or an errno value:
    // EPERM (a regular file, which is always ready), EEXIST (added already), EBADF, ENOMEM, ENOSPC
    // (the user's limit of watches).
    [[nodiscard]] virtual int add(int fd, uint64_t token) noexcept = 0;

    // Called before close(): see epoll_linux.cc. Events that a wait() has fetched may still arrive.
    // No effect if not added.
    virtual void remove(int fd) noexcept = 0;

    // Waits for the first event until deadline_ns (0: does not wait; never: no limit). Returns the
    // number of events, at most poll_batch. 0: timeout, signal or interrupt().
    [[nodiscard]] virtual uint32_t wait(poll_event* events, int64_t deadline_ns) noexcept = 0;

    // Ends one current wait(), or else the next one with a deadline other than 0, because it is
    // meant for a sleeping poller. Several calls may end only one.
    virtual void interrupt() noexcept = 0;
};

// Not opened yet; nullptr: out of memory.
[[nodiscard]] std::unique_ptr<poll_backend> make_poll_backend() noexcept;

}  // namespace weft::detail
