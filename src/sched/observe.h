// observe.h: what the monitor's thread does for those who look on: traces, dumps that were asked for by a signal, the watchdog.
//
// The problem. Whoever wants to know why a process hangs cannot rely on its green threads, nor on a P: all may be taken. The monitor
// (sysmon.h) is there anyway, has no P and holds no lock while it does this. So it prints; and a signal handler has only to wake it.
//
// It costs nothing unless asked for: without a period the monitor does not wake up for it (due_ns() is never).
//
//   a signal's handler                            the monitor
//   Q1  dump_wanted = true                        Q3  called_.reset()
//   Q2  called_.wake()                            Q4  reads due_ns(): dump_wanted: does not sleep; or only until it tries again, while
//                                                     another runtime's monitor writes a dump: dumps come one after the other
//
// The wake of Q2 comes before Q3 or after it. Before: Q4 sees Q1, which the reset has not undone. After: the sleep ends at once.
//
// Declared here because the monitor calls it; what is printed is the business of debug/.
//
// Who: the monitor's thread, but for request_dump().
// See: docs/debugging.md
#pragma once

#include <cstdint>
#include <memory>

#include <weft/detail/wait.h>

#include "base/atomic.h"

namespace weft::detail {

struct debug_options;
struct scheduler;
struct watched;
struct G;

class observer {
public:
    observer() noexcept;
    ~observer();
    observer(const observer&) = delete;
    observer& operator=(const observer&) = delete;

    // Says what is to be done for s. Before the monitor starts. watchdog_ns: as runtime_options say; 0: as debug says.
    // Throws std::bad_alloc.
    void start(const scheduler& s, const debug_options& debug, int64_t watchdog_ns);

    // When it has something to do next; never: it has not been asked for anything. long_ago: now.
    [[nodiscard]] int64_t due_ns() const noexcept;

    // Does what is due. Holding no lock.
    void act(scheduler& s, int64_t now_ns) noexcept;

    // The monitor is to write a dump to stderr. It has to be woken after that. Any thread, any signal handler.
    void request_dump() noexcept { dump_wanted_.store(true, release); }  // Q1

private:
    void dump_if_it_is_our_turn(scheduler& s, int64_t now_ns) noexcept;

    atomic<bool> dump_wanted_{false};

    // The monitor's own.
    int64_t dump_at_ns_ = long_ago;  // not before, if one is wanted
    int64_t began_ns_ = 0;
    int64_t trace_every_ns_ = 0;  // 0: not
    int64_t trace_at_ns_ = never;
    bool trace_detail_ = false;
    int64_t watch_every_ns_ = 0;  // 0: not
    int64_t watch_at_ns_ = never;
    std::unique_ptr<watched> watched_;
};

// ---- Deadlocks: see debug/deadlock.cc.

// The caller, an M of s that holds no P and no lock, was the last to lie down, and nobody has come for a while. Does not return if all
// green threads of the process wait and nothing can wake one. False: other threads might, so it need not look again soon.
[[nodiscard]] bool look_for_deadlock(scheduler& s) noexcept;

// ---- Mutexes of the system: see debug/held.h.

// g, which has special::holds, is about to leave its M. frame: where its frames begin. By itself.
void report_held_mutex(const G& g, const void* frame) noexcept;

// ---- In the child of a fork: locks that are held by threads that are not there.

void free_observing_locks() noexcept;
void free_held_lock() noexcept;

}  // namespace weft::detail
