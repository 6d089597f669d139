// debug.h: inspects a running program: the state of every green thread, and scheduler statistics.
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

/// Counters of one runtime since its start, and its current state. Read without stopping anything:
/// each figure is correct, but they are not all of the same instant.
struct stats_snapshot {
    unsigned procs = 0;            ///< Ps.
    unsigned procs_idle = 0;       ///< Ps without an M.
    std::size_t threads = 0;       ///< Live Ms.
    std::size_t threads_idle = 0;  ///< Sleeping Ms.
    std::size_t threads_spinning = 0;

    uint64_t spawned = 0;       ///< Gs ever started.
    uint64_t finished = 0;      ///< Gs that have returned.
    uint64_t live = 0;          ///< Equals spawned - finished.
    uint64_t switches = 0;      ///< Gs that were given an M to run on.
    uint64_t parks = 0;         ///< Waits that really blocked.
    uint64_t steals = 0;        ///< Gs stolen from another P.
    uint64_t steal_rounds = 0;  ///< Rounds of stealing.
    uint64_t global_gets = 0;   ///< Gs taken from the global queue.
    uint64_t overflows = 0;     ///< Times a full ring moved half of its Gs to the global queue.
    uint64_t wakes = 0;         ///< Futex wakes of sleeping Ms.
    uint64_t timers_fired = 0;
    uint64_t retakes_blocked = 0;  ///< Ps retaken from a thread that did not run.
    uint64_t retakes_burning = 0;  ///< Ps retaken from a thread that had computed for longer than a slice.
    uint64_t retakes_in_call = 0;  ///< Ps retaken from a thread in blocking().
    uint64_t yield_requests = 0;   ///< Gs asked to yield because their slice was over.
    uint64_t preempted = 0;        ///< Those that did so in code compiled by weft_instrument().
    uint64_t interrupted = 0;      ///< Those that a signal interrupted in code marked as preemptible.
    uint64_t threads_moved = 0;    ///< Threads with a P that shared a CPU, moved to one where a G computed without a P.
    uint64_t monitor_looks = 0;    ///< Times the monitor has scanned the Ps.
    uint64_t thread_shortages = 0;  ///< Times a thread was needed and not available.
    uint64_t stacks_mapped = 0;     ///< Slots of mapped stack slabs.
    uint64_t stack_cache_hits = 0;  ///< Stacks taken from the P's own cache.
    uint64_t stack_cache_misses = 0;
    uint64_t g_cache_hits = 0;  ///< Dead Gs reused from the P's own cache.
    uint64_t g_cache_misses = 0;
    uint64_t stack_bytes_trimmed = 0;  ///< Memory of pooled stacks returned to the system.
    uint64_t stacks_unmapped = 0;      ///< Slots of stack slabs unmapped, with their page tables.
    uint64_t g_bytes_trimmed = 0;      ///< Memory of dead Gs returned to the system.

    /// Gs by current state. waiting is live minus all others.
    uint64_t runnable = 0;           ///< Queued.
    uint64_t running = 0;            ///< On a thread, with or without a P, and not in blocking().
    uint64_t running_without_p = 0;  ///< Of these, those whose P was retaken.
    uint64_t in_call = 0;            ///< In blocking().
    uint64_t waiting = 0;

    /// Where the runnable ones are queued.
    uint64_t queued_local = 0;   ///< On Ps, normal class.
    uint64_t queued_global = 0;  ///< In the global queue.
    uint64_t queued_high = 0;    ///< Of these classes, in any queue.
    uint64_t queued_low = 0;

    std::size_t threads_with_p = 0;     ///< Ms that hold a P, including those that look for work.
    std::size_t threads_without_p = 0;  ///< Ms that run a G, or are in a call, without a P.
    uint64_t hand_offs = 0;             ///< Ps handed off by their own M.
    uint64_t preemptions = 0;           ///< Gs that entered the scheduler because they were asked to.
    uint64_t monitor_late = 0;          ///< Times the monitor was late: the machine was busy elsewhere, or stopped.
};

/// A histogram of durations, with four buckets per power of two.
struct latency_histogram {
    static constexpr std::size_t buckets = 160;  ///< the last one starts at 15 minutes

    uint64_t counts[buckets] = {};

    /// The bucket of ns, and the smallest value in a bucket.
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

    /// Returns the value that a fraction q (0 to 1) of all does not exceed: the upper end of its
    /// bucket. 0 if nothing was counted.
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

/// A snapshot of one P.
struct proc_snapshot {
    unsigned index = 0;
    bool idle = false;      ///< no M holds it
    uint64_t switches = 0;  ///< schedules so far
    uint64_t queued = 0;    ///< runnable Gs, of all classes
};

/// Statistics of the caller's runtime, or of the default one. Any thread.
[[nodiscard]] stats_snapshot stats() noexcept;

/// How long Gs of that runtime were runnable before they ran. A sample: Gs picked on the
/// scheduler's own stack, which is at least every 61st of a P. As accurate as the P's clock, see
/// docs/debugging.md.
[[nodiscard]] latency_histogram scheduling_latency() noexcept;

/// Fills in up to count Ps of that runtime. Returns the number of Ps.
std::size_t stats_of_procs(proc_snapshot* all, std::size_t count) noexcept;

/// Stack depth of green threads started at one place.
struct stack_use_at {
    source_location where;    ///< the place; line 0: all places beyond the 255th
    uint64_t measured = 0;    ///< number of measurements
    std::size_t waiting = 0;  ///< frame bytes of the deepest waiting one: at least this much is needed
    std::size_t touched = 0;  ///< bytes down to the lowest page touched: this much suffices
};

/// Fills in the start places in the caller's runtime, or in the default one, deepest first. Returns
/// their number, which may exceed the size of into. Measures all green threads that wait or are
/// runnable. Earlier measurements are added: those of stack_use() and dump(), and those of ending
/// green threads (one in 64 whose stacks went back to a pool). A peak between two measurements is
/// missed. touched counts whole pages, possibly touched by an earlier green thread with the same
/// stack. With RUN_DEBUG=stack_use each green thread gets a fresh stack, measured at its end: then
/// touched is its own, to the page. Any thread. About 1 us per live green thread; allocates
/// nothing.
std::size_t stack_use(std::span<stack_use_at> into) noexcept;

/// The forms of a dump.
enum class dump_form : uint8_t {
    text,    ///< for people
    folded,  ///< one line per group: frames from the outermost on, then a count: for flame graphs
    json,    ///< for programs; the fields are in docs/debugging.md
};

/// How a dump is written.
struct dump_options {
    dump_form form = dump_form::text;
    bool grouped = true;  ///< green threads in the same state, with the same stack, are one entry
    bool names = true;    ///< frames have names of functions: a child process finds them
};

/// Writes a report on the green threads of the caller's runtime (or the default one) to the file
/// descriptor fd: state, wait reason and duration, stack, and where they were started. Groups with
/// the most green threads come first. Any thread. Gs are inspected one by one, each held for a
/// moment; none is stopped for longer. The caller's stack is shown; stacks of other running Gs only
/// if dumps on a signal or the watchdog are enabled. Does not use malloc, so it works in a debugger
/// and in a program that is about to fail: it maps memory, and a child process reads the symbols,
/// within five seconds (docs/debugging.md). Takes about 5 us per green thread.
void dump(int fd, const dump_options& options) noexcept;

/// As dump(fd, {}).
void dump(int fd) noexcept;

/// Makes this signal (SIGQUIT, SIGUSR1 …) write such a dump of each runtime to stderr, even if all
/// green threads compute or wait. The program continues; a previous handler is called too. These
/// dumps include the stacks of running green threads, except on a program thread (that of
/// weft::main) that blocks SIGURG. Returns 0 or an errno value. Any thread.
int dump_on_signal(int signal) noexcept;

namespace detail {
void count_external_wakers(int change) noexcept;
}  // namespace detail

/// While one exists, a source unknown to the runtime may wake green threads, so no deadlock is
/// reported: see docs/deadlocks.md. Such a source is a signal handler, or, with
/// RUN_DEBUG=deadlock=strict (which ignores threads), another thread. Any thread.
class external_waker {
public:
    external_waker() noexcept { detail::count_external_wakers(1); }

    ~external_waker() { detail::count_external_wakers(-1); }

    external_waker(const external_waker&) = delete;
    external_waker& operator=(const external_waker&) = delete;
};

/// Exit code of a process whose green threads are in a deadlock.
inline constexpr int deadlock_exit_code = 86;

}  // namespace weft
