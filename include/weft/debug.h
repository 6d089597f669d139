// debug.h: looking at a running program: what every green thread does, and what the scheduler has counted.
//
// See: docs/debugging.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>

namespace weft {

// What one runtime has counted since it was started, and what it has now. Taken without stopping anything: the figures
// are each right, not all of the same instant.
struct stats_snapshot {
    unsigned procs = 0;            // Ps
    unsigned procs_idle = 0;       // Ps without an M
    std::size_t threads = 0;       // Ms alive
    std::size_t threads_idle = 0;  // Ms asleep
    std::size_t threads_spinning = 0;

    uint64_t spawned = 0;       // Gs ever started
    uint64_t finished = 0;      // Gs that have returned
    uint64_t live = 0;          // spawned - finished
    uint64_t switches = 0;      // Gs that were given an M to run on
    uint64_t parks = 0;         // waits that really blocked
    uint64_t steals = 0;        // Gs taken from another P
    uint64_t steal_rounds = 0;  // times a P went stealing
    uint64_t global_gets = 0;   // Gs taken from the global queue
    uint64_t overflows = 0;     // times a full ring spilled half of itself to the global queue
    uint64_t wakes = 0;         // futex wakes of sleeping Ms
    uint64_t timers_fired = 0;
    uint64_t retakes_blocked = 0;   // Ps taken away from a thread that did not run
    uint64_t retakes_burning = 0;   // … that had computed for longer than a slice
    uint64_t retakes_in_call = 0;   // … that was in blocking()
    uint64_t yield_requests = 0;    // Gs that were asked to yield because their slice was over
    uint64_t preempted = 0;         // … and did so in code compiled by weft_instrument()
    uint64_t interrupted = 0;       // … and were, by a signal, in code marked as preemptible
    uint64_t monitor_looks = 0;     // times the monitor has looked at the Ps
    uint64_t thread_shortages = 0;  // times a thread was needed and could not be had
    uint64_t stacks_mapped = 0;     // slots of mapped stack slabs
    uint64_t stack_cache_hits = 0;  // stacks taken from the P's own cache
    uint64_t stack_cache_misses = 0;
    uint64_t g_cache_hits = 0;  // dead Gs reused from the P's own cache
    uint64_t g_cache_misses = 0;
    uint64_t stack_bytes_trimmed = 0;  // memory of pooled stacks that went back to the system
};

// Statistics of the caller's runtime, or of the default one. Any thread.
[[nodiscard]] stats_snapshot stats() noexcept;

// How deep the stacks of the green threads that were started at one place were used.
struct stack_use_at {
    std::source_location where;  // where they were started; line 0: those of all places beyond the 255th
    uint64_t measured = 0;       // times one was looked at
    std::size_t waiting = 0;     // bytes of frames of the deepest that was found waiting: so much at least is needed
    std::size_t touched = 0;     // bytes down to the lowest page touched: so much is enough
};

// Fills in places of the caller's runtime, or of the default one, the deepest first, and returns how many there are, which may be more than
// into holds. Measures all green threads that wait or are runnable, and adds what was measured before: when stack_use() or dump()
// was called, and, of one in 64 of those whose stacks went back to a pool, when they ended. What runs between two measurements and
// is gone at the second is missed. touched is in whole pages, and, since stacks are reused, may be the work of an earlier green
// thread; with RUN_DEBUG=stack_use each one gets a fresh stack and is measured at its end: then it is its own, to the page.
// Any thread. Costs about a microsecond for each green thread alive; nothing is allocated.
std::size_t stack_use(std::span<stack_use_at> into) noexcept;

// Writes a report on every green thread of the caller's runtime (or the default one) to the file descriptor fd: state, wait reason
// and for how long, where it was started, entry function, last P, backtrace. Any thread. Gs are looked at one by one, each
// held still for a moment; a G that is running is listed as running, without its stack. Nothing is allocated.
void dump(int fd) noexcept;

}  // namespace weft
