// debug.cc: statistics and dumps, for C. See weft/run/debug.h.
#include <cstring>
#include <memory>
#include <new>

#include <weft/debug.h>
#include <weft/run/debug.h>

run_status_t run_stats(run_counts_t* counts) noexcept {
    if (counts == nullptr || counts->size < sizeof(counts->size)) return RUN_INVALID;
    const weft::stats_snapshot s = weft::stats();
    const run_counts_t all = {
        .size = counts->size,
        .procs = s.procs,
        .procs_idle = s.procs_idle,
        .threads = s.threads,
        .threads_idle = s.threads_idle,
        .threads_spinning = s.threads_spinning,
        .spawned = s.spawned,
        .finished = s.finished,
        .live = s.live,
        .switches = s.switches,
        .parks = s.parks,
        .steals = s.steals,
        .steal_rounds = s.steal_rounds,
        .global_gets = s.global_gets,
        .overflows = s.overflows,
        .wakes = s.wakes,
        .timers_fired = s.timers_fired,
        .stacks_mapped = s.stacks_mapped,
        .stack_cache_hits = s.stack_cache_hits,
        .stack_cache_misses = s.stack_cache_misses,
        .g_cache_hits = s.g_cache_hits,
        .g_cache_misses = s.g_cache_misses,
        .stack_bytes_trimmed = s.stack_bytes_trimmed,
        .runnable = s.runnable,
        .running = s.running,
        .running_without_p = s.running_without_p,
        .in_call = s.in_call,
        .waiting = s.waiting,
        .hand_offs = s.hand_offs,
        .preemptions = s.preemptions,
        .retakes_blocked = s.retakes_blocked,
        .retakes_burning = s.retakes_burning,
        .retakes_in_call = s.retakes_in_call,
        .monitor_late = s.monitor_late,
        .yield_requests = s.yield_requests,
        .preempted = s.preempted,
        .interrupted = s.interrupted,
    };
    std::memcpy(counts, &all, counts->size < sizeof(all) ? counts->size : sizeof(all));
    return RUN_OK;
}

size_t run_stack_use(run_stack_use_at_t* into, size_t max) noexcept {
    const std::unique_ptr<weft::stack_use_at[]> places(new (std::nothrow) weft::stack_use_at[max]);
    if (places == nullptr || (into == nullptr && max != 0)) return 0;
    const std::size_t count = weft::stack_use({places.get(), max});
    for (std::size_t i = 0; i < count && i < max; ++i) {
        const weft::stack_use_at& p = places[i];
        into[i] = {p.where.file_name(),
                   static_cast<int>(p.where.line()),
                   p.where.function_name(),
                   p.measured,
                   p.waiting,
                   p.touched};
    }
    return count;
}

run_status_t run_dump(int fd) noexcept {
    if (fd < 0) return RUN_INVALID;
    weft::dump(fd);
    return RUN_OK;
}

run_status_t run_dump_on_signal(int signal) noexcept {
    return weft::dump_on_signal(signal) == 0 ? RUN_OK : RUN_INVALID;
}

uint64_t run_scheduling_latency_ns(double q) noexcept { return weft::scheduling_latency().quantile_ns(q); }

static_assert(RUN_EXIT_DEADLOCK == weft::deadlock_exit_code);

void run_external_waker_begin(void) noexcept { weft::detail::count_external_wakers(1); }

void run_external_waker_end(void) noexcept { weft::detail::count_external_wakers(-1); }
