// observe.h: the monitor's work for observers: traces, dumps requested by a signal, the watchdog.
//
// The monitor (sysmon.h) has no P and holds no lock here, so it prints (in debug/), and a signal
// handler only wakes it:
//
//     signal handler                     monitor
//     Q1  dump_wanted = true             Q3  called_.reset()
//     Q2  called_.wake()                 Q4  reads due_ns(): does not sleep if dump_wanted; or only until it
//                                            tries again, while another monitor writes a dump
//
// If Q2 comes before Q3, Q4 sees Q1. If after, the sleep ends at once.
//
// Threads: the monitor's, except request_dump().
// See:     docs/debugging.md
#pragma once

#include <cstdint>
#include <memory>

#include <weft/detail/wait.h>

#include "base/atomic.h"

namespace weft::detail {

struct debug_options;
struct scheduler;
struct watched;

class observer {
public:
    observer() noexcept;
    ~observer();
    observer(const observer&) = delete;
    observer& operator=(const observer&) = delete;

    // Before the monitor starts. watchdog_ns: from runtime_options; 0: as debug says. Throws
    // std::bad_alloc.
    void start(const scheduler& s, const debug_options& debug, int64_t watchdog_ns);

    // When to call act(); never: nothing is requested; long_ago: now.
    [[nodiscard]] int64_t due_ns() const noexcept;

    // Requires: no lock is held.
    void act(scheduler& s, int64_t now_ns) noexcept;

    // Requests a dump to stderr; wake the monitor after that. Any thread, any signal handler.
    void request_dump() noexcept { dump_wanted_.store(true, release); }  // Q1

private:
    void dump_if_it_is_our_turn(scheduler& s, int64_t now_ns) noexcept;

    atomic<bool> dump_wanted_{false};

    // Monitor only.
    int64_t dump_at_ns_ = long_ago;  // if a dump is wanted: not before
    int64_t began_ns_ = 0;
    int64_t trace_every_ns_ = 0;  // 0: off
    int64_t trace_at_ns_ = never;
    bool trace_detail_ = false;
    int64_t watch_every_ns_ = 0;  // 0: off
    int64_t watch_at_ns_ = never;
    std::unique_ptr<watched> watched_;
};

// ---- Deadlocks: see debug/deadlock.cc.

// By a monitor that holds no lock. Does not return from a deadlock. False: other threads might wake
// a G, so the next search is not urgent.
[[nodiscard]] bool search_for_deadlock(scheduler& s) noexcept;

// ---- In a fork child: locks held by threads that do not exist there.

void free_observing_locks() noexcept;

}  // namespace weft::detail
