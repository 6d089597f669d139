// event_source.h: what pollers hear of besides the files that green threads wait for: things of which one descriptor stands for many waits.
//
// A ring of operations on files, the signals of the process, children that nobody waits for: the system says "something has happened", and
// whoever fetched that event finds out what, at once, on its own thread. So it takes one wake-up to reach the green thread in
// question, as for any other file, and no thread or green thread that would wait in between.
//
// Two kinds. What belongs to a runtime is in that runtime's poller, and ends with it (netpoll::files). What belongs to the process is in some
// poller, and must outlive it: standing_source. It is that of the runtime on whose behalf it was first wanted; when that stops, the poller
// of plain threads (outside_poller.h).
//
// Rejected. A green thread that waits for the descriptor and passes on: it counts among the program's own, holds up drain() and stop(), and
// takes a turn more. A hidden runtime. Adding it to all pollers: all of them would wake for each event.
//
// Locks: a source's own, under none; it may make ready.
// Who:   collect: whoever polls, on g0, the monitor, the thread of the outside poller; several at a time.
// See:   docs/netpoll.md
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

    // Something has happened, or may have. Returns who is woken by it, chained, to be made ready by the caller.
    [[nodiscard]] virtual waiter* collect() noexcept = 0;

    // Its runtime has ended, and its memory is about to go: waits until nobody uses any of it. By one thread, when no other is left.
    virtual void end() noexcept {}
};

// ---- Tokens (backend.h). Those of files have this bit clear: it would be that of a negative number.
inline constexpr uint64_t source_bit = uint64_t{1} << 31;

enum class source_kind : uint8_t { files, signals, children };
inline constexpr uint64_t standing_kinds = 3;  // files is none, and has a place nevertheless

[[nodiscard]] constexpr uint64_t token_of(source_kind kind) noexcept {
    return source_bit | static_cast<uint64_t>(kind);
}

[[nodiscard]] constexpr bool is_of_source(uint64_t token) noexcept { return (token & source_bit) != 0; }

[[nodiscard]] constexpr source_kind kind_of(uint64_t token) noexcept {
    return static_cast<source_kind>(token & ~source_bit);
}

// ---- Of the process.

// Made once, on first use, and never destroyed.
class standing_source : public event_source {
public:
    explicit standing_source(source_kind kind) noexcept : kind_(kind) {}

    // Sees to it that events of fd, which is the same each time until forget(), come from now on, as long as it is wanted. Returns 0 or an
    // errno value.
    [[nodiscard]] int watch(int fd) noexcept;

    // Whether there is anything to hear of. If not, it need not be in a poller.
    [[nodiscard]] virtual bool is_wanted() noexcept = 0;

    // In the child of a fork, where it is in no poller: makes itself as if it had never been used.
    virtual void forget() noexcept = 0;

private:
    friend void move_standing_sources(const poll_backend& from) noexcept;
    friend void forget_standing_sources() noexcept;

    [[nodiscard]] int watch_locked(bool outside) noexcept;

    const source_kind kind_;
    spin_lock moving_;
    // Guarded by moving_.
    int fd_ = -1;
    const poll_backend* home_ = nullptr;
};

// An event came with that token.
[[nodiscard]] waiter* collect_standing(uint64_t token) noexcept;

// That poller is about to be destroyed.
void move_standing_sources(const poll_backend& from) noexcept;

// In the child of a fork.
void forget_standing_sources() noexcept;

}  // namespace weft::detail
