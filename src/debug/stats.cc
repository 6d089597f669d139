// stats.cc: see stats.h and weft/debug.h.
#include "debug/stats.h"

#include <algorithm>

#include <weft/debug.h>
#include <weft/runtime.h>

#include "lifecycle/stopping.h"
#include "sched/scheduler.h"
#include "sched/simulated_runtimes.h"
#include "sched/simulation.h"
#include "sched/switch.h"

namespace weft {

namespace detail {

namespace {

// Does not stop the Ms.
void count_ms(scheduler& s, stats_snapshot& all) noexcept {
    s.threads_lock.lock();  // so no M is freed
    uint64_t in_call_with_p = 0;
    for (uint32_t i = 0; i < s.ps.reach(); ++i) {
        const uintptr_t word = s.ps[i].owner.load(acquire);  // pairs with acquire_p
        const M* holder = holder_of(word);
        if (holder == nullptr) continue;
        ++all.threads_with_p;
        if (holder->in_call.load(relaxed_count)) ++in_call_with_p;
    }
    for (const M* m = s.all_ms; m != nullptr; m = m->all_next) all.in_call += m->in_call.load(relaxed_count) ? 1U : 0U;
    s.threads_lock.unlock();
    idle_guard held(s.idle);
    all.threads_without_p = s.idle.absent.without_p;
    held.unlock();
    const auto less = [](uint64_t a, uint64_t b) { return a > b ? a - b : 0; };
    all.running_without_p = less(all.threads_without_p, less(all.in_call, in_call_with_p));
    all.running = less(all.threads_with_p, all.threads_spinning + in_call_with_p) + all.running_without_p;
}

uint64_t queued_on(const P& p) noexcept {
    return p.queue.size() + (p.run_next.load(relaxed_count) != nullptr ? 1U : 0U);
}

void count_queued(const scheduler& s, stats_snapshot& all) noexcept {
    all.queued_global = s.global.size() + s.injected.size();
    all.queued_high = s.high.size();
    all.queued_low = s.low.size();
    for (uint32_t i = 0; i < s.ps.reach(); ++i) {
        all.queued_local += queued_on(s.ps[i]);
        all.queued_high += s.ps[i].high.size();
        all.queued_low += s.ps[i].low.size();
    }
    all.runnable = all.queued_local + all.queued_global + all.queued_high + all.queued_low;
}

uint64_t spawned_gs(const scheduler& s) noexcept {
    uint64_t spawned = s.external_spawns.load(acquire);  // keeps the order of the sums
    for (uint32_t i = 0; i < s.ps.made(); ++i) spawned += s.ps[i].count.spawned.get();
    std::atomic_thread_fence(std::memory_order_acquire);  // keeps the order of the sums
    return spawned;
}

// A G spawned between the sums would count as live even if it has ended. So both are taken while no
// G ends; failing that, finished is the later one.
void count_live(const scheduler& s, stats_snapshot& all) noexcept {
    constexpr int attempts = 10;
    all.finished = finished_gs(s);
    for (int i = 0; i < attempts; ++i) {
        const uint64_t before = all.finished;
        all.spawned = spawned_gs(s);
        all.finished = finished_gs(s);
        if (all.finished == before) break;
    }
    all.finished = std::min(all.finished, all.spawned);
    all.live = all.spawned - all.finished;
}

}  // namespace

namespace {

template <typename Counters>
latency_histogram sum_of(const scheduler& s, Counters P::* of) noexcept {
    latency_histogram all;
    for (uint32_t i = 0; i < s.ps.made(); ++i) {
        for (std::size_t b = 0; b < latency_histogram::buckets; ++b) all.counts[b] += (s.ps[i].*of)[b].get();
    }
    return all;
}

}  // namespace

latency_histogram latency_of(const scheduler& s) noexcept { return sum_of(s, &P::latency); }

latencies latencies_of(const scheduler& s) noexcept {
    return {.scheduling = latency_of(s),
            .timer_lateness = sum_of(s, &P::timer_lateness),
            .poll_delay = sum_of(s, &P::poll_delay)};
}

std::size_t procs_of(const scheduler& s, proc_snapshot* all, std::size_t count) noexcept {
    for (uint32_t i = 0; i < s.ps.in_use() && i < count; ++i) {
        const P& p = s.ps[i];
        const bool idle = (p.owner.load(relaxed_count) & ~attention::mask) == 0;
        all[i] = {i, idle, p.tick(), queued_on(p) + p.high.size() + p.low.size()};
    }
    return s.ps.in_use();
}

namespace {

uint64_t look_at(const atomic<uint64_t>& counted) noexcept { return counted.load(relaxed_count); }

}  // namespace

stats_snapshot stats_of(scheduler& s) noexcept {
    stats_snapshot all;
    all.procs = s.ps.in_use();
    all.procs_idle = s.idle.ps.count();
    all.threads_idle = s.idle.ms.count.load(relaxed_count);
    all.threads_spinning = s.idle.spinning.load(relaxed_count);
    all.wakes = s.wakes.load(relaxed_count);
    all.threads = s.thread_count.load(relaxed_count);
    for (uint32_t i = 0; i < s.ps.made(); ++i) {
        const auto& count = s.ps[i].count;
        all.switches += s.ps[i].tick();
        all.preemptions += count.preemptions.get();
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
    all.parks += look_at(s.external_parks);
    const auto& seen = s.sysmon.count;
    all.retakes_blocked = look_at(seen.retakes_blocked);
    all.retakes_burning = look_at(seen.retakes_burning);
    all.retakes_in_call = look_at(seen.retakes_in_call);
    all.yield_requests = s.sysmon.requests();
    all.monitor_looks = look_at(seen.scans);
    all.threads_moved = s.sysmon.spread.moved();
    all.thread_shortages = look_at(s.no_thread);
    all.monitor_late = look_at(seen.late);
    all.hand_offs = look_at(s.hand_offs);
    count_live(s, all);
    count_queued(s, all);
    count_ms(s, all);
    const uint64_t elsewhere = all.runnable + all.running + all.in_call;
    all.waiting = all.live > elsewhere ? all.live - elsewhere : 0;
    all.stacks_mapped = s.stacks.mapped();
    all.stack_bytes_trimmed = s.stacks.trimmed_bytes();
    all.stacks_unmapped = s.stacks.unmapped();
    all.g_bytes_trimmed = s.gs.trimmed_bytes();
    return all;
}

namespace {

template <typename T, typename F>
T of_callers(F&& of, const T& if_none) noexcept {
    const M* m = current_g_m();
    if (m != nullptr) return of(*m->home);
    scheduler* s = pin_default_scheduler_if_any();
    if (s == nullptr) return if_none;
    const T all = of(*s);
    s->unpin();
    return all;
}

// The green threads of r in a simulation; nullptr: of the caller's runtime.
void count_simulated(const runtime* r, stats_snapshot& all) noexcept {
    const simulated_runtimes* runtimes = current_simulation()->runtimes();
    if (runtimes != nullptr && (r == nullptr || runtimes->has(*r))) runtimes->count(r, all);
}

}  // namespace

latencies latencies_of_caller() noexcept { return of_callers(latencies_of, latencies{}); }

}  // namespace detail

stats_snapshot stats() noexcept {
    stats_snapshot all = detail::of_callers(detail::stats_of, stats_snapshot{});
    if (detail::current_simulation() != nullptr) detail::count_simulated(nullptr, all);
    return all;
}

latency_histogram scheduling_latency() noexcept { return detail::of_callers(detail::latency_of, latency_histogram{}); }

std::size_t stats_of_procs(proc_snapshot* all, std::size_t count) noexcept {
    return detail::of_callers([&](const detail::scheduler& s) { return detail::procs_of(s, all, count); },
                              std::size_t{0});
}

stats_snapshot runtime::stats() const noexcept {
    const detail::runtime_use s = use();
    if (s == nullptr) return {};
    stats_snapshot all = detail::stats_of(*s);
    if (detail::current_simulation() != nullptr) detail::count_simulated(this, all);
    return all;
}

latency_histogram runtime::scheduling_latency() const noexcept {
    const detail::runtime_use s = use();
    return s == nullptr ? latency_histogram{} : detail::latency_of(*s);
}

std::size_t runtime::stats_of_procs(proc_snapshot* all, std::size_t count) const noexcept {
    const detail::runtime_use s = use();
    return s == nullptr ? 0 : detail::procs_of(*s, all, count);
}

}  // namespace weft
