// wait.cc: blocking, for green and plain threads. See weft/detail/wait.h.
#include <exception>
#include <new>

#include <weft/detail/cancel.h>
#include <weft/detail/wait.h>
#include <weft/error.h>

#include "base/assert.h"
#include "base/generation.h"
#include "handoff/retake.h"
#include "os/note.h"
#include "os/os.h"
#include "os/probe.h"
#include "sched/g_main.h"
#include "sched/park.h"
#include "sched/simulation.h"
#include "sched/switch.h"
#include "wait/interrupt.h"
#include "wait/thread_note.h"

namespace weft::detail {

namespace {

[[gnu::noinline]] void describe_wait_without_p(M* m, waiter& w, wait_reason reason) noexcept {
    G* g = m->g;
    w.g = g;
    g->waiting = &w;
    g->reason = reason;
    g->since_ns = os::monotonic_ns();
    g->last_p = static_cast<uint16_t>(m->p->index);
    WEFT_PROBE3(park, g->id, static_cast<uint8_t>(g->reason), w.lock);
    m->home->external_parks.fetch_add(1, relaxed_count);
}

[[gnu::always_inline]] inline void describe_wait(M* m, waiter& w, wait_reason reason) noexcept {
    G* g = m->g;
    P* p = m->p;
    w.g = g;
    g->waiting = &w;
    g->reason = reason;
    g->since_ns = p->now_ns;
    g->last_p = static_cast<uint16_t>(p->index);
    p->count.parks.add();
    WEFT_PROBE3(park, g->id, static_cast<uint8_t>(g->reason), w.lock);
}

bool is_from_before_fork(const waiter& w) noexcept {
    if (w.g != nullptr) return is_from_before_fork(*w.g->home);
    return w.note->made_in != fork_generation.load(relaxed_alone);
}

// In a fork's child, with the lock of me's queue held: fatal if nothing can end the wait. See
// fork.h.
[[gnu::cold]] void check_in_child(const waiter& me, int64_t deadline_ns) noexcept {
    if (me.queue != nullptr) {
        for (const waiter* w = me.queue->front(); w != nullptr; w = w->next)
            if (is_from_before_fork(*w)) fatal_in_child("an object on which the parent waits was");
    }
    if (deadline_ns == never && os::thread_count() == 1)
        fatal_in_child("an object that only the parent could have changed was");
}

// Blocks a plain thread on its note. Only the queue can end this wait.
void thread_wait(waiter& w, guarded_word& lock, uint32_t bits) noexcept WEFT_RELEASE(lock) {
    const thread_note_use use;
    w.g = nullptr;
    w.note = &use.mine;
    use.mine.wakeup.reset();
    if (fork_generation.load(relaxed_alone) != 0) check_in_child(w, never);
    lock.unlock_bits(bits);
    const bool woken = use.mine.wakeup.sleep(never);
    WEFT_ASSERT(woken);
}

// The rest of park(), on an M without a P.
[[gnu::noinline]] void park_without_p(M* m, waiter& w, guarded_word& lock, uint32_t bits, wait_reason reason) noexcept
    WEFT_RELEASE(lock) WEFT_NO_THREAD_SAFETY_ANALYSIS {  // the next context on this M releases it
    describe_wait_without_p(m, w, reason);
    m->after = {after_switch::kind::park, bits, {&lock}, nullptr, m->g};
    m = switch_away_without_p(m);
    m->g->waiting = nullptr;
    leave(m);
}

// Parks the current G, which is linked. The lock stays held through the switch.
[[gnu::always_inline]] inline void park(M* m, waiter& w, guarded_word& lock, uint32_t bits, wait_reason reason) noexcept
    WEFT_RELEASE(lock) WEFT_NO_THREAD_SAFETY_ANALYSIS {  // as above
    if (!enter(m)) [[unlikely]]
        return park_without_p(m, w, lock, bits, reason);
    describe_wait(m, w, reason);
    m->after.what = after_switch::kind::park;
    m->after.bits = bits;
    m->after.lock = &lock;
    m->after.g = m->g;
    m = switch_away(m);
    m->g->waiting = nullptr;
    leave(m);
}

[[gnu::always_inline]] inline void link(waiter& w, wait_queue& queue, guarded_word& lock, bool at_front) noexcept {
    if (at_front) {
        queue.push_front(w);
    } else {
        queue.push_back(w);
    }
    w.lock = &lock;
}

// A wait that r's deadline, or context if there is one, may also end.
[[gnu::noinline]] wait_result wait_with_others(M* m,
                                               guarded_word& lock,
                                               const wait_request& r,
                                               cancel_context* context) noexcept
    WEFT_RELEASE(lock) WEFT_NO_THREAD_SAFETY_ANALYSIS {  // wait_claimed() releases it
    waiter& w = r.me;
    if (r.deadline_ns <= long_ago) {  // a wait for no time is not a wait, so not interrupted
        lock.unlock_bits(r.bits);
        return wait_result::timed_out;
    }
    claim_word claim;
    const held_lock held{&lock, r.bits};
    cancel_wait cancelled{&claim, m == nullptr ? nullptr : m->g, nullptr, nullptr};
    other_parties others{r.deadline_ns, context, &cancelled};
    const bool ambient_is_first = context != nullptr && context->deadline_ns() < r.deadline_ns;
    if (ambient_is_first) others.deadline_ns = context->deadline_ns();
    w.claim = &claim;
    w.which = 0;
    w.also = nullptr;

    uint32_t winner = claimed_by::cancellation;
    if (m != nullptr) {
        if (context != nullptr && !context->enter_wait(cancelled)) {
            lock.unlock_bits(r.bits);
            return wait_result::cancelled;
        }
        link(w, r.queue, lock, r.at_front);
        winner = wait_claimed(m, w, &held, 1, r.reason, others);
    } else {
        const thread_note_use use;
        cancelled.note = &use.mine;
        w.g = nullptr;
        w.note = &use.mine;
        use.mine.wakeup.reset();
        const bool parked = claim.publish_parked();
        WEFT_ASSERT(parked);
        if (context != nullptr && !context->enter_wait(cancelled)) {
            lock.unlock_bits(r.bits);
            return wait_result::cancelled;
        }
        link(w, r.queue, lock, r.at_front);
        if (fork_generation.load(relaxed_alone) != 0) check_in_child(w, others.deadline_ns);
        winner = thread_wait_claimed(use.mine, claim, &held, 1, others);
    }
    if (winner == 0) return wait_result::served;
    const uint32_t now_bits = lock.lock_bits();  // L4
    if (w.queue != nullptr) w.queue->remove(w);
    lock.unlock_bits(now_bits);
    if (winner == claimed_by::cancellation) return wait_result::cancelled;
    WEFT_ASSERT(winner == claimed_by::deadline);
    return ambient_is_first ? wait_result::expired : wait_result::timed_out;
}

[[gnu::noinline]] cancel_context* unless_unwinding(cancel_context* context) noexcept {
    return std::uncaught_exceptions() > context->uncaught() ? nullptr : context;
}

}  // namespace

bool stop_reaches(const M* m) noexcept {
    if (m == nullptr || !m->home->cancelling.load(acquire)) return false;  // pairs with cancel_and_drain
    if (!stop_is_for_caller(m)) return false;
    const bool shielded = (m->g->traits & trait::ambient) != 0 && m->g->ambient == shield_context();
    return !shielded && std::uncaught_exceptions() == 0;
}

void tell_tokens_of(cancel_context* context, wait_result why) noexcept {
    if (context == nullptr) return;  // the runtime stops
    if (why == wait_result::cancelled && stop_reaches(current_g_m())) context->cancel_all_around();
    context->tell_tokens(why);
}

cancel_context* heeded_context(M* m) noexcept {
    cancel_context* context = nullptr;
    if (m == nullptr) {
        context = ambient();
    } else if ((m->g->traits & trait::ambient) != 0 && is_context(m->g->ambient)) {
        context = m->g->ambient;
    }
    return context == nullptr ? nullptr : unless_unwinding(context);
}

uint32_t wait_claimed(M* m,
                      waiter& first,
                      const held_lock* locks,
                      uint32_t count,
                      wait_reason reason,
                      const other_parties& others) noexcept {
    G* self = m->g;
    const claim_word& claim = *first.claim;
    timer alarm;
    const bool has_p = enter(m);
    if (has_p) {
        describe_wait(m, first, reason);
    } else {
        describe_wait_without_p(m, first, reason);
    }
    if (others.deadline_ns != never) {
        timer_queue* timers = &m->p->timers;
        alarm.deadline_ns = others.deadline_ns;
        alarm.who = &first;
        timers->lock.lock();
        if (timers->closed_locked()) {  // our P was lost and is gone
            timers->lock.unlock();
            timers = &m->home->ps[0].timers;
            timers->lock.lock();
        }
        timers->add_locked(alarm, has_p ? m->p->now_ns : 0);
        timers->lock.unlock();
        if (has_p) {
            leaves_timer();
        } else {
            wake_for_outside(*m->home, procs_max);
        }
    }
    if (count == 1) {
        m->after = {after_switch::kind::park_claimable, locks->bits, {locks->lock}, first.claim, self};
    } else {
        m->after = {after_switch::kind::park_claimable_many, count, {}, first.claim, self};
        m->after.locks = locks;
    }
    leave(has_p ? switch_away(m) : switch_away_without_p(m));

    // One party has claimed us; leave the others (L4).
    if (others.deadline_ns != never) {
        timer_queue& timers = lock_home(alarm);
        timers.lock.assume_held();
        if (alarm.queued) timers.remove_locked(alarm);
        timers.lock.unlock();
    }
    if (others.context != nullptr) others.context->leave_wait();
    self->waiting = nullptr;
    return claim.winner();
}

uint32_t thread_wait_claimed(thread_note& mine,
                             claim_word& claim,
                             const held_lock* locks,
                             uint32_t count,
                             const other_parties& others) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    for (uint32_t i = 0; i < count; ++i) locks[i].lock->unlock_bits(locks[i].bits);
    if (!mine.wakeup.sleep(others.deadline_ns)) {
        bool must_ready = false;
        if (!claim.try_claim(claimed_by::deadline, must_ready)) {
            const bool woken = mine.wakeup.sleep(never);  // the claimer is about to wake us
            WEFT_ASSERT(woken);
        }
    }
    if (others.context != nullptr) others.context->leave_wait();
    return claim.winner();
}

void wait_in_queue(
    waiter& w, wait_queue& queue, guarded_word& lock, uint32_t bits, wait_reason reason, bool at_front) noexcept {
    link(w, queue, lock, at_front);
    M* m = current_g_m();
    if (m == nullptr) {
        thread_wait(w, lock, bits);
        return;
    }
    park(m, w, lock, bits, reason);
}

namespace {

// Only its queue, or a stopping runtime, could end the wait of w.
[[gnu::always_inline]] inline wait_result served_or_stopped(const waiter& w) noexcept {
    if (w.claim != nullptr) [[unlikely]]
        return wait_result::cancelled;
    return wait_result::served;
}

wait_result end_by_stop(guarded_word& lock, const wait_request& r, cancel_context* context) noexcept
    WEFT_RELEASE(lock) {
    lock.unlock_bits(r.bits);
    if (!r.for_lock) tell_tokens_of(context, wait_result::cancelled);
    return wait_result::cancelled;
}

// The rest of wait_cancellable().
[[gnu::noinline]] wait_result wait_interruptibly(M* m, guarded_word& lock, const wait_request& r) noexcept
    WEFT_RELEASE(lock) {
    cancel_context* context = heeded_context(m);
    const bool heeds_stop = !r.for_lock || r.deadline_ns != never;
    if (heeds_stop && stop_reaches(m)) return end_by_stop(lock, r, context);
    if (context == nullptr && r.deadline_ns == never && !r.always_claimed) {
        wait(lock, r);
        return r.for_lock ? wait_result::served : served_or_stopped(r.me);
    }
    const wait_result result = wait_with_others(m, lock, r, context);
    const bool interrupted = result == wait_result::cancelled || result == wait_result::expired;
    if (interrupted && !r.for_lock) tell_tokens_of(context, result);
    return result;
}

}  // namespace

wait_result wait_in_queue_until(
    waiter& w, wait_queue& queue, guarded_word& lock, uint32_t bits, wait_reason reason, int64_t deadline_ns) noexcept {
    M* m = current_g_m();
    if (m != nullptr && (m->g->traits & trait::ambient) == 0 && deadline_ns == never) [[likely]] {
        link(w, queue, lock, false);
        park(m, w, lock, bits, reason);
        return served_or_stopped(w);
    }
    return wait_interruptibly(m, lock,
                              {.me = w, .queue = queue, .bits = bits, .reason = reason, .deadline_ns = deadline_ns});
}

wait_result wait_as_requested(guarded_word& lock, const wait_request& r) noexcept {
    return wait_interruptibly(current_g_m(), lock, r);
}

void tell_tokens(wait_result why) noexcept { tell_tokens_of(heeded_context(current_g_m()), why); }

void throw_interrupted(wait_result result) {
    if (result == wait_result::cancelled) {
        if (stop_reaches(current_g_m())) throw runtime_stopped();
        throw cancelled();
    }
    WEFT_ASSERT(result == wait_result::expired);
    throw timed_out();
}

void wait_forever(wait_reason reason) noexcept {
    wait_queue nobody;
    spin_lock lock;
    waiter me;
    lock.lock();
    wait(lock, {.me = me, .queue = nobody, .bits = 0, .reason = reason});
    fatal("a wait that no thread can end has ended: memory was overwritten, or this is a bug in weft");
}

namespace {

[[gnu::always_inline]] inline void ready_g(G* g) noexcept {
    M* m = current_g_m();
    if (m == nullptr || m->home != g->home) {
        WEFT_PROBE2(ready, g->id, -1);
        ready_g_outside(g);
        return;
    }
    if (!enter(m)) [[unlikely]] {
        leave(m);
        WEFT_PROBE2(ready, g->id, m->index);
        ready_g_outside(g);
        return;
    }
    g->since_ns = m->p->now_ns;
    ready_g_inside(m, g);
    leave(m);
}

}  // namespace

void ready_party(G* g, thread_note* note) noexcept {
    if (g == nullptr) {
        note->wakeup.wake();
        return;
    }
    ready_g(g);
}

void ready(waiter& w) noexcept {
    G* g = w.g;
    if (g == nullptr) {
        w.note->wakeup.wake();
        return;
    }
    ready_g(g);
}

void ready_all(waiter* chain) noexcept {
    while (chain != nullptr) {
        waiter* next = chain->next;
        ready(*chain);
        chain = next;
    }
}

int64_t now_ns() noexcept { return clock_ns(); }

}  // namespace weft::detail
