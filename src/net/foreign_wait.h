// foreign_wait.h: waits for descriptors, for calls of code that does not know of green threads
// (weft::hooks).
//
// Such code calls read() and poll() on any number, closes descriptors, and hands them to other
// processes. So a descriptor is borrowed for each call, and kept in the poller between calls
// (poll_desc.h). A call
//
//   F1  begins: reads the count of edges (I1 of poll_side.h)
//   F2  tries the system call, which must not block
//   F3  waits: borrows the descriptor, adds it to the poller, and parks unless an edge has come
//       since F1; then to F1
//
// F3 adds the descriptor after F2, and no edge is lost. If the poller does not have it, adding it
// reports what is possible at that moment. If the poller has it, an event since F1 was counted or
// is still to come.
//
// Adding a descriptor that the poller has costs a system call, which fails with EEXIST. It is what
// makes a number correct that was closed without notice (fclose, a raw system call) and means
// another file now.
//
// Rejected: a watched_fd for each wait: it adds and removes, and is tried once more.
// Rejected: a table of descriptors that close() maintains: not all closes are seen.
//
// Threads: a green thread, outside of the runtime.
// See:     docs/hooks.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <weft/detail/select_case.h>
#include <weft/detail/wait.h>

#include "netpoll/poll_desc.h"

namespace weft::detail {

// Whether the caller is a green thread that may park here: outside of the runtime, of blocking
// calls, of simulations, and not in a signal handler on the alternate stack.
[[nodiscard]] bool may_park() noexcept;

// Whether fd is an open file of weft, which is always non-blocking.
[[nodiscard]] bool is_own_fd(int fd) noexcept;

// Called around a close of fd, or of what fd has meant, by any thread. The first wakes green
// threads that wait for it: they find it closed. The second makes those try again that have come in
// between.
void before_close(int fd) noexcept;
void after_close(int fd) noexcept;

// before_close for all numbers from first to last.
void before_close_range(unsigned first, unsigned last) noexcept;

enum class foreign_end : uint8_t {
    again,      // try the call again
    timed_out,  // at the caller's deadline
    cancelled,  // a scope around the caller, or the runtime
    expired,    // at a deadline around the caller
    closed,     // another thread has closed the descriptor
    failed,     // the poller does not take it; such as a regular file
};

// The waits of one call for one direction of fd.
class foreign_fd {
public:
    foreign_fd(int fd, bool writes) noexcept : fd_(fd), writes_(writes) {}

    ~foreign_fd();
    foreign_fd(const foreign_fd&) = delete;
    foreign_fd& operator=(const foreign_fd&) = delete;

    // F1.
    void begin() noexcept;

    // F3. again: from F1.
    [[nodiscard]] foreign_end wait(int64_t deadline_ns) noexcept;

private:
    [[nodiscard]] poll_side& side() const noexcept { return writes_ ? desc_->out : desc_->in; }

    poll_desc* desc_ = nullptr;  // nullptr: never waited for
    uint32_t generation_ = 0;    // 0: not borrowed
    uint32_t seen_ = 0;
    const int fd_;
    const bool writes_;
};

// The waits of one call for any of several descriptors.
class foreign_fds {
public:
    // Room for count sides. Throws std::bad_alloc.
    explicit foreign_fds(std::size_t count);
    ~foreign_fds();
    foreign_fds(const foreign_fds&) = delete;
    foreign_fds& operator=(const foreign_fds&) = delete;

    // A negative fd, or one that is not open, is left out.
    void add(int fd, bool writes) noexcept;

    // F1.
    void begin() noexcept;

    // F3, until an edge of any of them.
    [[nodiscard]] foreign_end wait(int64_t deadline_ns) noexcept;

private:
    struct watch {
        poll_desc* desc;
        uint32_t generation;
        uint32_t seen;
        bool writes;

        [[nodiscard]] poll_side& side() const noexcept { return writes ? desc->out : desc->in; }
    };

    static const select_ops ops;
    static const watch& watch_of(const select_case& c) noexcept;
    static bool seems_ready(const select_case& c) noexcept;
    static bool has_new_edge(select_case& c, uint32_t bits) noexcept;

    static constexpr std::size_t few = 4;
    watch few_watches_[few];
    select_case few_cases_[few];
    held_lock few_locks_[few];
    std::unique_ptr<watch[]> many_watches_;
    std::unique_ptr<select_case[]> many_cases_;
    std::unique_ptr<held_lock[]> many_locks_;
    watch* watches_ = few_watches_;
    select_case* cases_ = few_cases_;
    held_lock* locks_ = few_locks_;
    std::size_t count_ = 0;
};

}  // namespace weft::detail
