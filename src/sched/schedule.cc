// schedule.cc: implements the order of schedule.h.
#include "sched/schedule.h"

#include <algorithm>
#include <utility>

#include "handoff/injected.h"
#include "handoff/pin.h"
#include "handoff/retake.h"
#include "idle/placement.h"
#include "lifecycle/start.h"
#include "os/os.h"
#include "os/probe.h"
#include "sched/park.h"
#include "sched/priority_queues.h"
#include "sched/switch.h"
#include "sched/trim.h"

namespace weft::detail {

namespace {

constexpr int steal_rounds = 4;
constexpr int64_t run_next_stale_ns = 3'000;
constexpr uint32_t global_batch_max = run_queue::capacity / 2;

// Step 5 (or 2, with n = 1): the first of a batch; the others go to p's ring.
G* take_global(scheduler& s, P* p, uint32_t n) noexcept {
    if (s.global.size() == 0) return nullptr;
    fifo<G> batch = s.global.pop(n);
    G* first = batch.pop_front();
    if (first == nullptr) return nullptr;
    p->count.global_gets.add(1 + batch.size());
    while (G* g = batch.pop_front()) {
        if (!g->started()) prefetch_start(g);
        const bool fits = p->queue.push(g);
        WEFT_ASSERT(fits);  // the ring was empty; a batch is at most half
    }
    if (!p->queue.empty()) after_push(s, s.idle);  // for Ms that searched before these pushes
    return first;
}

uint32_t global_share(const scheduler& s) noexcept {
    const uint32_t size = s.global.size();
    return std::min({global_batch_max, size, size / s.ps.in_use() + 1});
}

// Takes g from victim's run_next if the owner is in user code: T1 to T4 of p.h.
bool take_run_next(P* victim, const G* g) noexcept {
    uintptr_t word = victim->owner.load(relaxed_cas);
    const M* holder = holder_of(word);
    if (holder == nullptr || (word & attention::asked) != 0) return false;
    // T1. acq_rel: serializes thieves; relaxed: another was faster
    if (!victim->owner.compare_exchange_strong(word, word | attention::asked, acq_rel, relaxed)) return false;
    bool fenced = (word & attention::fence) != 0;
    if (fenced) {
        WEFT_FULL_FENCE();
    } else {
        fenced = os::heavy_fence();  // T2
    }
    // T3. acquire: pairs with leave, and with push_next
    const bool ours = fenced && holder->in_runtime.load(acquire) == 0 && victim->run_next.load(acquire) == g;
    if (ours) victim->run_next.store(nullptr, relaxed);   // relaxed: T4 publishes
    victim->owner.fetch_and(~attention::asked, release);  // T4
    return ours;
}

// The thief keeps the time, so a push costs nothing.
G* steal_run_next(M* m, P* victim, int64_t now_ns) noexcept {
    G* g = victim->run_next.load(acquire);  // acquire: compares with a G that is there now
    M::sighting& seen = m->sightings[victim->index];
    const uint64_t tick = victim->tick();
    if (g == nullptr || seen.g != g || seen.tick != tick) {
        seen = {g, tick, now_ns};
        return nullptr;
    }
    if (now_ns - seen.at_ns < run_next_stale_ns) return nullptr;
    seen = {};
    if (take_run_next(victim, g)) return g;
    // The owner may have woken us, and wait for our CPU: docs/scheduling.md.
    os::yield_thread();
    return nullptr;
}

// As fire_timers.
uint32_t fire_due(M* m, timer_queue& q, int64_t now_ns) noexcept {
    const int64_t due_ns = q.next_deadline();
    const uint32_t count = fire_timers(m, q, now_ns);
    if (count == 0) return 0;
    m->p->timer_lateness[latency_histogram::bucket_of(static_cast<uint64_t>(std::max(now_ns - due_ns, int64_t{0})))]
        .add();
    if (has_ring(m)) record_event(m, event_kind::timers, 0, count, 0);
    return count;
}

// One round of step 7.
G* steal_round(scheduler& s, M* m, bool last, int64_t now_ns) noexcept {
    P* self = m->p;
    const stealing_order& order = s.ps.order();
    const uint32_t stride = order.strides[m->random.below(order.count)];
    uint32_t at = m->random.below(order.n);
    for (uint32_t i = 0; i < order.n; ++i, at = (at + stride) % order.n) {
        P* victim = &s.ps[at];
        if (victim == self) continue;
        if (G* g = steal_high(self, victim)) return g;
        uint32_t count = 0;
        if (G* g = self->queue.steal_from(victim->queue, count)) {
            self->count.steals.add(count);
            WEFT_PROBE3(steal, m->index, count, victim->index);
            if (has_ring(m)) record_event(m, event_kind::steal, 0, count, victim->index);
            return g;
        }
        if (!last) continue;
        if (victim->timers.next_deadline() <= now_ns && fire_due(m, victim->timers, now_ns) != 0) {
            if (G* g = take_high(s, self)) return g;
            if (G* g = pick_local(self)) return g;
        }
        if (G* g = steal_run_next(m, victim, now_ns)) {
            self->count.steals.add(1);
            WEFT_PROBE3(steal, m->index, 1, victim->index);
            if (has_ring(m)) record_event(m, event_kind::steal, 0, 1, victim->index);
            return g;
        }
    }
    return nullptr;
}

}  // namespace

void end_slice(M* m) noexcept {
    P* p = m->p;
    p->begin_slice();
    G* next = p->run_next.load(relaxed);  // relaxed: ours in the runtime
    if (next == nullptr) return;
    p->run_next.store(nullptr, relaxed);  // relaxed: as above
    push_ring(m, next);
}

G* steal(scheduler& s, M* m, int64_t now_ns) noexcept {
    m->p->count.steal_rounds.add();
    if (s.ps.reach() == 1) return nullptr;  // no victim; random draws must not depend on time
    for (int round = 1; round <= steal_rounds; ++round) {
        if (G* g = steal_round(s, m, round == steal_rounds, now_ns)) return g;
    }
    return nullptr;
}

namespace {

// asked_ns: when the poller was asked before it gave these events; 0: unknown, or an M sleeps in
// it.
void ready_events(const scheduler& s, M* m, waiter* events, int64_t asked_ns) noexcept {
    if (asked_ns != 0) {
        const int64_t delay_ns = std::max(s.io.polled_ns() - asked_ns, int64_t{0});
        m->p->poll_delay[latency_histogram::bucket_of(static_cast<uint64_t>(delay_ns))].add();
    }
    ready_polled(m, events, m->p->now_ns);
}

// Step 6.
G* take_polled(scheduler& s, M* m) noexcept {
    if (!s.io.in_use() || s.idle.poller.any()) return nullptr;
    const int64_t asked_ns = s.io.polled_ns();
    waiter* fetched = s.io.poll(0);
    if (fetched == nullptr) return nullptr;
    ready_events(s, m, fetched, asked_ns);
    if (G* g = take_high(s, m->p)) return g;
    return pick_local(m->p);
}

// Step 2. If a batch could overflow the ring, events stay in the kernel, which keeps their order.
void poll_in_passing(scheduler& s, M* m) noexcept {
    P* p = m->p;
    static_assert(poll_batch <= run_queue::capacity / 2);
    if (p->queue.size() + poll_batch > run_queue::capacity) return;
    const int64_t asked_ns = s.io.polled_ns();
    if (waiter* fetched = s.io.poll_if_older(netpoll::busy_ns, p->now_ns))
        ready_events(s, m, fetched, s.idle.poller.any() ? 0 : asked_ns);
}

// S2 or S1: the slice of m's P is over.
bool slice_is_over(const scheduler& s, const M* m) noexcept {
    P* p = m->p;
    if (slice_was_ended(m)) return true;
    const uint64_t slice = p->slice();
    if (p->slice_seen == slice) return p->now_ns - p->slice_seen_ns >= s.slice_ns;
    p->slice_seen = slice;
    p->slice_seen_ns = p->now_ns;
    return false;
}

// S3: nothing has left the non-empty ring for a slice.
bool ring_is_due(const scheduler& s, P* p) noexcept {
    const uint32_t popped = p->queue.popped();
    if (popped == p->ring_popped && !p->queue.empty()) return p->now_ns - p->ring_waits_ns >= s.slice_ns;
    p->ring_popped = popped;
    p->ring_waits_ns = p->now_ns;
    return false;
}

// At the end of a slice: returns a queued G, and run_next goes behind all others.
G* take_queued_first(scheduler& s, M* m, bool ring_due) noexcept {
    P* p = m->p;
    poll_in_passing(s, m);
    G* g = ring_due ? pick_queued(p) : nullptr;
    if (g == nullptr) g = take_global(s, p, p->queue.empty() ? global_share(s) : 1);
    if (g == nullptr) g = pick_queued(p);
    if (g != nullptr) {
        end_slice(m);
    } else {
        p->begin_slice();
    }
    return g;
}

// The next G for m. nullptr: m came back from sleep without a P, or the scheduler stops.
G* find_runnable(scheduler& s, M* m) noexcept {
    bool knows_time = false;
    for (;;) {
        P* p = m->p;
        if (p == nullptr || s.stopping.load(acquire)) return nullptr;  // acquire: a moment later is as good
        if (G* g = std::exchange(m->picked, nullptr)) {
            keep_hurry(s, p);
            return g;
        }

        if (s.ps.is_surplus(*p)) [[unlikely]] {
            give_up_surplus_p(s, m);
            knows_time = false;
            continue;
        }
        if (s.simulated != nullptr) [[unlikely]]
            return s.simulated->next();
        if (!m->spinning) move_as_told(m);  // while it spins, no other M is woken
        if (!std::exchange(knows_time, false)) p->now_ns = os::monotonic_ns();
        if (p->timers.next_deadline() <= p->now_ns) fire_due(m, p->timers, p->now_ns);
        if (p->gives_back.load(relaxed)) [[unlikely]]  // relaxed: a request
            give_caches_back(s, *p);
        const bool countdown_over = p->ticks_left.load(relaxed_own) <= 1;
        if (countdown_over) p->restart_ticks(P::global_every + 1);  // this schedule ends the old countdown
        if (s.raised.load(relaxed) != p->raised_seen) [[unlikely]]
            move_raised_of(s, m);  // relaxed: the request to hurry publishes it
        if (G* g = take_turn(s, p)) return g;
        const bool after_injected = p->injected_began_ns != 0;
        if (G* g = take_injected(s, p)) return g;
        const bool ring_due = ring_is_due(s, p);
        if (ring_due || slice_is_over(s, m)) [[unlikely]] {
            if (!ring_due) p->global_due = p->tick() + P::global_every;
            if (G* g = take_queued_first(s, m, ring_due)) return g;
        }
        if (countdown_over && p->tick() >= p->global_due) {
            p->global_due = p->tick() + P::global_every;
            poll_in_passing(s, m);
            if (G* g = take_global(s, p, 1)) return g;
        }
        if (after_injected) {
            // A G of the ring precedes what an injected G left in run_next.
            if (G* g = pick_queued(p)) return g;
        }
        if (G* g = pick_local(p)) return g;
        if (G* g = take_share_of_global(s, p)) return g;
        if (G* g = take_any_injected(s, p)) return g;
        if (G* g = take_high(s, p)) return g;
        if (G* g = take_polled(s, m)) return g;
        if (start_spinning(s, m)) {
            if (G* g = steal(s, m, p->now_ns)) return g;
        }
        if (G* g = take_any_low(s, p)) return g;
        knows_time = sleep_until_work(s, m);
    }
}

// Direct switches are not measured.
void sample_latency(P* p, const G* g) noexcept {
    const int64_t ns = p->now_ns - g->since_ns;
    p->latency[latency_histogram::bucket_of(ns < 0 ? 0 : static_cast<uint64_t>(ns))].add();
}

bool has_died(const after_switch& after) noexcept {
    return after.what == after_switch::kind::die || after.what == after_switch::kind::die_outside;
}

}  // namespace

G* take_share_of_global(scheduler& s, P* p) noexcept {
    return s.global.size() == 0 ? nullptr : take_global(s, p, global_share(s));
}

void schedule_loop(M* m) noexcept {
    scheduler& s = *m->home;
    while (G* g = find_runnable(s, m)) {
        if (m->spinning) stop_spinning(s, m);
        if (!may_run(m, g)) [[unlikely]] {
            hand_over(s, m, g);
            continue;
        }
        compiler_fence();                                                           // as in after_push
        if ((s.idle.wanted.load(relaxed) & wanted::monitor) != 0) call_monitor(s);  // relaxed: as in after_push
        sample_latency(m->p, g);
        execute(m, g);
        if (m->pinned != nullptr && has_died(m->after)) [[unlikely]] {
            retire(s, m);
            if (m->p == nullptr) break;
        } else if (m->p == nullptr) [[unlikely]] {
            come_back_without_p(s, m);
        }
    }
    if (m->retired.load(relaxed_own) && m->is_main) await_stop(s, m);
}

}  // namespace weft::detail
