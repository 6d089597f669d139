// debug.h: looking at a running program: what every green thread does, and what the scheduler has counted.
//
// See: docs/debugging.md, docs/deadlocks.md
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <weft/detail/require.h>
#include <weft/detail/source_location.h>

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
    uint64_t retakes_blocked = 0;  // Ps taken away from a thread that did not run
    uint64_t retakes_burning = 0;  // … that had computed for longer than a slice
    uint64_t retakes_in_call = 0;  // … that was in blocking()
    uint64_t yield_requests = 0;   // Gs that were asked to yield because their slice was over
    uint64_t preempted = 0;        // … and did so in code compiled by weft_instrument()
    uint64_t interrupted = 0;      // … and were, by a signal, in code marked as preemptible
    uint64_t threads_moved = 0;  // threads that hold a P and shared a CPU, moved to one where a G computed without a P
    uint64_t monitor_looks = 0;  // times the monitor has looked at the Ps
    uint64_t thread_shortages = 0;  // times a thread was needed and could not be had
    uint64_t stacks_mapped = 0;     // slots of mapped stack slabs
    uint64_t stack_cache_hits = 0;  // stacks taken from the P's own cache
    uint64_t stack_cache_misses = 0;
    uint64_t g_cache_hits = 0;  // dead Gs reused from the P's own cache
    uint64_t g_cache_misses = 0;
    uint64_t stack_bytes_trimmed = 0;  // memory of pooled stacks that went back to the system
    uint64_t stacks_unmapped = 0;      // slots of stack slabs that were unmapped, with their page tables
    uint64_t g_bytes_trimmed = 0;      // memory of dead Gs that went back to the system

    // Gs by what they do now. The last is what is left of live when the others are taken away.
    uint64_t runnable = 0;           // queued
    uint64_t running = 0;            // on a thread, with or without a P, and not in blocking()
    uint64_t running_without_p = 0;  // of them those whose P was taken away
    uint64_t in_call = 0;            // in blocking()
    uint64_t waiting = 0;

    // Where the runnable ones are queued.
    uint64_t queued_local = 0;   // on Ps, normal class
    uint64_t queued_global = 0;  // in the global queue
    uint64_t queued_high = 0;    // of these classes, wherever
    uint64_t queued_low = 0;

    std::size_t threads_with_p = 0;     // Ms that hold a P, those that look for work included
    std::size_t threads_without_p = 0;  // Ms that run a G, or are in a call, without a P
    uint64_t hand_offs = 0;             // Ps that their own M gave to another one
    uint64_t preemptions = 0;           // Gs that came to the scheduler because they were asked to
    uint64_t monitor_late = 0;          // times the monitor came late: the machine was busy elsewhere, or stopped
};

// How long things took: counts in buckets, four for each power of two.
struct latency_histogram {
    static constexpr std::size_t buckets = 160;  // the last one from 15 minutes on

    uint64_t counts[buckets] = {};

    // The bucket that ns is counted in, and the least that is counted in a bucket.
    [[nodiscard]] static constexpr std::size_t bucket_of(uint64_t ns) noexcept {
        if (ns < 4) return ns;
        const auto log2 = static_cast<unsigned>(std::bit_width(ns)) - 1;
        const std::size_t bucket = std::size_t{log2 - 1} * 4 + (ns >> (log2 - 2) & 3);
        return bucket < buckets ? bucket : buckets - 1;
    }

    [[nodiscard]] static constexpr uint64_t least_ns(std::size_t bucket) noexcept {
        return bucket < 4 ? bucket : (4 + bucket % 4) << (bucket / 4 - 1);
    }

    [[nodiscard]] constexpr uint64_t total() const noexcept {
        uint64_t sum = 0;
        for (const uint64_t n : counts) sum += n;
        return sum;
    }

    // What a part q (0 to 1) of all does not exceed: the upper end of the bucket in which that lies. 0 if nothing was counted.
    [[nodiscard]] constexpr uint64_t quantile_ns(double q) const noexcept {
        const uint64_t all = total();
        if (all == 0) return 0;
        const double wanted = q * static_cast<double>(all);
        uint64_t seen = 0;
        std::size_t bucket = 0;
        while (bucket < buckets - 1) {
            seen += counts[bucket];
            if (seen != 0 && static_cast<double>(seen) >= wanted) break;
            ++bucket;
        }
        return least_ns(bucket + 1) - 1;
    }
};

// One P, as it was a moment ago.
struct proc_snapshot {
    unsigned index = 0;
    bool idle = false;      // no M holds it
    uint64_t switches = 0;  // schedules so far
    uint64_t queued = 0;    // runnable Gs, of all classes
};

// Statistics of the caller's runtime, or of the default one. Any thread.
[[nodiscard]] stats_snapshot stats() noexcept;

// How long Gs of that runtime were runnable before they ran. A sample: those that a thread has picked on its way through the scheduler's
// own stack, which is at least every 61st of a P. To the accuracy of the P's clock, see docs/debugging.md.
[[nodiscard]] latency_histogram scheduling_latency() noexcept;

// The Ps of that runtime: fills in up to count of them. Returns how many there are.
std::size_t stats_of_procs(proc_snapshot* all, std::size_t count) noexcept;

// How deep the stacks of the green threads that were started at one place were used.
struct stack_use_at {
    source_location where;    // where they were started; line 0: those of all places beyond the 255th
    uint64_t measured = 0;    // times one was looked at
    std::size_t waiting = 0;  // bytes of frames of the deepest that was found waiting: so much at least is needed
    std::size_t touched = 0;  // bytes down to the lowest page touched: so much is enough
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

// From now on this signal (SIGQUIT, SIGUSR1 …) makes each runtime write such a dump to stderr, whatever its green threads do: if all
// compute, if all wait. The program goes on. A handler that was there before is called too. The dumps have the stacks of green threads that
// run, too; not of those on a thread of the program (that of weft::main) which blocks SIGURG. Returns 0 or an errno value. Any thread.
int dump_on_signal(int signal) noexcept;

namespace detail {
void count_external_wakers(int change) noexcept;
}  // namespace detail

// As long as one exists, something that the runtime does not know of may wake green threads: a signal handler; another thread, where
// RUN_DEBUG=deadlock=strict says that threads are not looked at. So nothing is called a deadlock: see docs/deadlocks.md. Any thread.
class external_waker {
public:
    external_waker() noexcept { detail::count_external_wakers(1); }

    ~external_waker() { detail::count_external_wakers(-1); }

    external_waker(const external_waker&) = delete;
    external_waker& operator=(const external_waker&) = delete;
};

// How a process ends whose green threads are in a deadlock.
inline constexpr int deadlock_exit_code = 86;

}  // namespace weft
