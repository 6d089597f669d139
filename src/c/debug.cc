// debug.cc: see weft/run/debug.h.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include <weft/debug.h>
#include <weft/run/debug.h>

run_status_t run_stats(run_counts_t* counts) noexcept {
    if (counts == nullptr || counts->size < sizeof(counts->size)) return RUN_INVALID;
    const weft::stats_snapshot s = weft::stats();
    const run_counts_t all = {
        .size = std::min(counts->size, sizeof(run_counts_t)),
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
        .monitor_looks = s.monitor_looks,
        .thread_shortages = s.thread_shortages,
        .threads_with_p = s.threads_with_p,
        .threads_without_p = s.threads_without_p,
        .queued_local = s.queued_local,
        .queued_global = s.queued_global,
        .queued_high = s.queued_high,
        .queued_low = s.queued_low,
        .threads_moved = s.threads_moved,
        .stacks_unmapped = s.stacks_unmapped,
        .g_bytes_trimmed = s.g_bytes_trimmed,
    };
    std::memcpy(counts, &all, all.size);
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
    switch (weft::dump_on_signal(signal)) {
        case 0:
            return RUN_OK;
        case EBUSY:
            return RUN_BUSY;
        default:
            return RUN_INVALID;
    }
}

uint64_t run_scheduling_latency_ns(double q) noexcept { return weft::scheduling_latency().quantile_ns(q); }

static_assert(RUN_LATENCY_BUCKETS == weft::latency_histogram::buckets);

size_t run_scheduling_latency(uint64_t* counts, size_t max) noexcept {
    if (counts != nullptr && max != 0) {
        const weft::latency_histogram all = weft::scheduling_latency();
        std::copy_n(all.counts, std::min(max, weft::latency_histogram::buckets), counts);
    }
    return weft::latency_histogram::buckets;
}

uint64_t run_latency_bucket_ns(size_t bucket) noexcept {
    return weft::latency_histogram::least_ns(std::min(bucket, weft::latency_histogram::buckets));
}

static_assert(RUN_EXIT_DEADLOCK == weft::deadlock_exit_code);

void run_external_waker_begin(void) noexcept { weft::detail::count_external_wakers(1); }

void run_external_waker_end(void) noexcept { weft::detail::count_external_wakers(-1); }
