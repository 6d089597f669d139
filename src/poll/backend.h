// backend.h: what a system must supply to wait for many file descriptors at once: the contract of pollers.
//
// A backend knows file descriptors and tokens. It knows no green thread, and nothing of who waits for what: it says what has
// become possible on which token, and poll_desc.h makes of it whom that concerns. One file per system implements it
// (epoll_linux.cc; kqueue_darwin.cc with kqueue.h), and tests have one of their own, in which they say themselves what happens.
//
// Edges, not levels. A descriptor is added once, for both directions, and for as long as it is open. An event says that something has
// changed: what was not possible may be so now. It comes again only when something changes again. add() itself says what is
// possible at that moment, so it does not matter what happened before. An event may come for nothing; whoever gets one tries, and
// waits for the next.
//
// Rejected. Adding for one wait only (EPOLLONESHOT, poll): a system call more for every wait. Levels: events for what nobody waits for
// come again and again, unless a system call takes them off. Completions instead of readiness (io_uring, IOCP): memory would have to be
// handed over for as long as nothing comes, which for ten thousand quiet connections is ten thousand buffers; and where
// data is there already, a call that copies it at once is as good.
//
// Who: any thread, also while others wait.
// See: docs/netpoll.md, backend_test.cc
#pragma once

#include <cstdint>
#include <memory>

namespace weft::detail {

// What has become possible. hung_up: the other side will send no more, or there is an error, or urgent data: a read may stop short of the end
// from now on, and both directions find out why.
namespace poll_bits {
inline constexpr uint32_t readable = 1;
inline constexpr uint32_t writable = 2;
inline constexpr uint32_t hung_up = 4;
}  // namespace poll_bits

struct poll_event {
    uint64_t token;  // that the descriptor was added with
    uint32_t what;   // poll_bits
};

inline constexpr uint32_t poll_batch = 128;  // events of one wait

class poll_backend {
public:
    poll_backend() = default;
    poll_backend(const poll_backend&) = delete;
    poll_backend& operator=(const poll_backend&) = delete;
    virtual ~poll_backend() = default;

    // Before anything else, once. Returns 0 or an errno value.
    [[nodiscard]] virtual int open() noexcept = 0;

    // From now on events of fd come with token, until it is removed or closed. Returns 0 or an errno value: EPERM where the system cannot
    // wait for such a descriptor (a regular file, for which nothing ever has to be waited for), EEXIST if it is added already, EBADF,
    // ENOMEM, ENOSPC (the user's limit of watches).
    [[nodiscard]] virtual int add(int fd, uint64_t token) noexcept = 0;

    // No event of fd begins to come. One that wait() has fetched already may still be on its way. Nothing happens if it was not added.
    virtual void remove(int fd) noexcept = 0;

    // Fetches events: returns how many, poll_batch at most. Waits for the first one until deadline_ns (0: not at all; never: without end).
    // 0: none has come, or interrupt() was called.
    [[nodiscard]] virtual uint32_t wait(poll_event* events, int64_t deadline_ns) noexcept = 0;

    // Ends a wait() that goes on now, of several any one, or else the next one that is not for 0. May end only one for several calls.
    virtual void interrupt() noexcept = 0;
};

// That of this system, not opened yet; nullptr if there is no memory.
[[nodiscard]] std::unique_ptr<poll_backend> make_poll_backend() noexcept;

}  // namespace weft::detail
