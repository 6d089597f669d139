// event_source.h: events in pollers where one descriptor stands for many waits.
//
// Examples are a ring of operations on files, the signals of the process, and unwaited children.
// The thread that fetched the event collects the details at once. A runtime's source
// (netpoll::files) ends with its poller. One of the process (standing_source) moves to the poller
// of plain threads (outside_poller.h) when the runtime that needed it stops.
//
// Rejected:
// - A green thread that waits and forwards: it holds up drain() and stop(), and takes one more
//   schedule.
// - A hidden runtime.
// - Adding it to all pollers: all would wake for each event.
//
// Locks:   a source's own, under no other; it may make Gs ready.
// Threads: collect: any polling thread (g0, the monitor, the outside poller's), several at a time.
// See:     docs/netpoll.md
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "poll/backend.h"

namespace weft::detail {

struct M;

class event_source {
public:
    event_source() = default;
    event_source(const event_source&) = delete;
    event_source& operator=(const event_source&) = delete;
    virtual ~event_source() = default;

    // Returns the woken waiters, chained, for the caller to ready.
    [[nodiscard]] virtual waiter* collect() noexcept = 0;

    // The runtime has ended: waits until no thread uses its memory, which is about to be freed.
    // Called when one thread is left.
    virtual void end() noexcept {}
};

// ---- Tokens (backend.h). Those of files have this bit clear.
inline constexpr uint64_t source_bit = uint64_t{1} << 31;

enum class source_kind : uint8_t { files, signals, children };
inline constexpr uint64_t standing_kinds = 3;  // files is not standing, but has an entry

[[nodiscard]] constexpr uint64_t token_of(source_kind kind) noexcept {
    return source_bit | static_cast<uint64_t>(kind);
}

[[nodiscard]] constexpr bool is_of_source(uint64_t token) noexcept { return (token & source_bit) != 0; }

[[nodiscard]] constexpr source_kind kind_of(uint64_t token) noexcept {
    return static_cast<source_kind>(token & ~source_bit);
}

// ---- Sources of the process.

// Created on first use and never destroyed.
class standing_source : public event_source {
public:
    explicit standing_source(source_kind kind) noexcept : kind_(kind) {}

    // Ensures that events of fd arrive while wanted. fd stays the same until forget(). Returns 0 or
    // an errno value.
    [[nodiscard]] int watch(int fd) noexcept;

    // Whether any event is expected, so that a poller is needed.
    [[nodiscard]] virtual bool is_wanted() noexcept = 0;

    // Whether a thread waits that only this source can wake. Asked by the deadlock detector, which
    // holds no lock. Not for waits with a reason of their own (is_woken_from_outside).
    [[nodiscard]] virtual bool is_awaited() noexcept { return false; }

    // In a fork child: resets to unused.
    virtual void forget() noexcept = 0;

private:
    friend void move_standing_sources(const poll_backend& from) noexcept;
    friend void forget_standing_sources() noexcept;

    [[nodiscard]] int watch_locked(bool outside) noexcept WEFT_REQUIRES(moving_);

    const source_kind kind_;
    spin_lock moving_;
    // Guarded by moving_.
    int fd_ WEFT_GUARDED_BY(moving_) = -1;
    const poll_backend* home_ WEFT_GUARDED_BY(moving_) = nullptr;
};

// event_source::collect for the source that has this token.
[[nodiscard]] waiter* collect_standing(uint64_t token) noexcept;

// Called before from is destroyed.
void move_standing_sources(const poll_backend& from) noexcept;

// Whether a thread waits for an event of a source. Any thread.
[[nodiscard]] bool standing_source_is_awaited() noexcept;

// Called in a fork child.
void forget_standing_sources() noexcept;

}  // namespace weft::detail
