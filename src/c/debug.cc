// debug.cc: statistics and dumps, for C. See weft/run/debug.h.
#include <cstring>

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
    };
    std::memcpy(counts, &all, counts->size < sizeof(all) ? counts->size : sizeof(all));
    return RUN_OK;
}

run_status_t run_dump(int fd) noexcept {
    if (fd < 0) return RUN_INVALID;
    weft::dump(fd);
    return RUN_OK;
}
