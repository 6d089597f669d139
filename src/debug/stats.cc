// stats.cc: the counters of a runtime, added up.
#include <weft/debug.h>
#include <weft/runtime.h>

#include "sched/scheduler.h"
#include "sched/switch.h"

namespace weft {

namespace detail {

namespace {

stats_snapshot stats_of(scheduler& s) noexcept {
    stats_snapshot all;
    all.procs = s.ps.in_use();
    all.procs_idle = s.idle.idle_p_count.load(relaxed);    // relaxed: a snapshot
    all.threads_idle = s.idle.idle_m_count.load(relaxed);  // relaxed: as above
    all.threads_spinning = s.idle.spinning.load(relaxed);  // relaxed: as above
    all.wakes = s.wakes.load(relaxed);                     // relaxed: as above
    all.threads = s.thread_count.load(relaxed);            // relaxed: as above
    // Finished ones first, so that live is never below zero.
    all.finished = s.foreign_ends.load(acquire);  // keeps the order of the sums
    for (uint32_t i = 0; i < s.ps.made(); ++i) all.finished += s.ps[i].count.finished.get();
    std::atomic_thread_fence(std::memory_order_acquire);  // keeps the order of the sums
    for (uint32_t i = 0; i < s.ps.made(); ++i) {
        const auto& count = s.ps[i].count;
        all.spawned += count.spawned.get();
        all.switches += s.ps[i].tick();
        all.parks += count.parks.get();
        all.steals += count.steals.get();
        all.steal_rounds += count.steal_rounds.get();
        all.global_gets += count.global_gets.get();
        all.overflows += count.overflows.get();
        all.timers_fired += count.timers_fired.get();
        all.preempted += count.preempted.get();
        all.interrupted += count.interrupted.get();
        all.stack_cache_hits += count.stack_hits.get();
        all.stack_cache_misses += count.stack_misses.get();
        all.g_cache_hits += count.g_hits.get();
        all.g_cache_misses += count.g_misses.get();
    }
    all.spawned += s.foreign_spawns.load(acquire);  // keeps the order of the sums
    all.parks += s.foreign_parks.load(relaxed);     // relaxed: a snapshot, as below
    const auto& seen = s.sysmon.count;
    all.retakes_blocked = seen.retakes_blocked.load(relaxed);
    all.retakes_burning = seen.retakes_burning.load(relaxed);
    all.retakes_in_call = seen.retakes_in_call.load(relaxed);
    all.yield_requests = seen.requests.load(relaxed);
    all.monitor_looks = seen.looks.load(relaxed);
    all.thread_shortages = s.no_thread.load(relaxed);
    all.live = all.spawned - all.finished;
    all.stacks_mapped = s.stacks.mapped();
    all.stack_bytes_trimmed = s.stacks.trimmed_bytes();
    return all;
}

}  // namespace

}  // namespace detail

stats_snapshot stats() noexcept {
    const detail::M* m = detail::current_g_m();
    if (m != nullptr) return detail::stats_of(*m->home);
    detail::scheduler* s = detail::pin_default_scheduler_if_any();
    if (s == nullptr) return {};
    const stats_snapshot all = detail::stats_of(*s);
    s->unpin();
    return all;
}

stats_snapshot runtime::stats() const noexcept {
    return scheduler_ == nullptr ? stats_snapshot{} : detail::stats_of(*scheduler_);
}

}  // namespace weft
