// wait.cc: blocking, for green threads and plain ones. The contract is in weft/detail/wait.h.
#include <new>

#include <weft/detail/wait.h>
#include <weft/error.h>

#include "base/assert.h"
#include "os/note.h"
#include "os/os.h"
#include "sched/park.h"
#include "sched/switch.h"
#include "sync/thread_note.h"

namespace weft::detail {

namespace {

// What the current G writes down before it parks.
[[gnu::always_inline]] inline void describe_wait(M* m, waiter& w, wait_reason reason) noexcept {
    G* g = m->g;
    P* p = m->p;
    w.g = g;
    g->waiting = &w;
    g->reason = reason;
    g->since_ns = p->now_ns;
    g->last_p = static_cast<uint16_t>(p->index);
    p->count.parks.add();
}

// A plain thread waits on its note. False: the deadline has passed and nobody had unlinked w.
bool thread_wait(waiter& w, guarded_word& lock, uint32_t bits, int64_t deadline_ns) noexcept {
    const thread_note_use use;
    thread_note& mine = use.mine;
    w.g = nullptr;
    w.note = &mine;
    mine.told.reset();
    lock.unlock_bits(bits);
    if (mine.told.sleep(deadline_ns)) return true;
    const uint32_t now_bits = lock.lock_bits();
    const bool linked = w.queue != nullptr;
    if (linked) w.queue->remove(w);
    lock.unlock_bits(now_bits);
    if (linked) return false;
    const bool told = mine.told.sleep(never);  // whoever unlinked us is about to tell
    WEFT_ASSERT(told);
    return true;
}

// The current G is in its queue: parks it, to be switched away from with the lock still held.
[[gnu::always_inline]] inline void park(
    M* m, waiter& w, guarded_word& lock, uint32_t bits, wait_reason reason) noexcept {
    enter(m);
    describe_wait(m, w, reason);
    m->after.what = after_switch::kind::park;
    m->after.bits = bits;
    m->after.lock = &lock;
    m->after.g = m->g;
    m = switch_away(m);
    m->g->waiting = nullptr;
    leave(m);
}

}  // namespace

void wait(waiter& w, wait_queue& queue, guarded_word& lock, uint32_t bits, wait_reason reason) noexcept {
    queue.push_back(w);
    w.lock = &lock;
    M* m = current_g_m();
    if (m == nullptr) {
        thread_wait(w, lock, bits, never);
        return;
    }
    park(m, w, lock, bits, reason);
}

void wait_first(waiter& w, wait_queue& queue, guarded_word& lock, uint32_t bits, wait_reason reason) noexcept {
    queue.push_front(w);
    w.lock = &lock;
    M* m = current_g_m();
    if (m == nullptr) {
        thread_wait(w, lock, bits, never);
        return;
    }
    park(m, w, lock, bits, reason);
}

bool wait_until(
    waiter& w, wait_queue& queue, guarded_word& lock, uint32_t bits, wait_reason reason, int64_t deadline_ns) noexcept {
    if (deadline_ns == never) {
        wait(w, queue, lock, bits, reason);
        return true;
    }
    queue.push_back(w);
    w.lock = &lock;
    M* m = current_g_m();
    if (m == nullptr) return thread_wait(w, lock, bits, deadline_ns);

    claim_word claim;
    timer alarm;
    w.claim = &claim;
    alarm.deadline_ns = deadline_ns;
    alarm.who = &w;

    G* self = m->g;
    enter(m);
    describe_wait(m, w, reason);
    timer_queue& timers = m->p->timers;
    timers.lock.lock();
    timers.add_locked(alarm);
    timers.lock.unlock();
    after_push(*m->home, m->home->idle);
    m->after = {after_switch::kind::park_claimable, bits, &lock, &claim, self};
    leave(switch_away(m));

    // Exactly one of deadline and queue has claimed us; take ourselves off the other (L4).
    timers.lock.lock();
    if (alarm.queued) timers.remove_locked(alarm);
    const bool timed_out = alarm.fired;
    timers.lock.unlock();
    if (timed_out) {
        const uint32_t now_bits = lock.lock_bits();
        if (w.queue != nullptr) w.queue->remove(w);
        lock.unlock_bits(now_bits);
    }
    self->waiting = nullptr;
    return !timed_out;
}

wait_result wait_cancellable(
    waiter& w, wait_queue& queue, guarded_word& lock, uint32_t bits, wait_reason reason, int64_t deadline_ns) noexcept {
    return wait_until(w, queue, lock, bits, reason, deadline_ns) ? wait_result::served : wait_result::timed_out;
}

void throw_interrupted(wait_result result) {
    if (result == wait_result::cancelled) throw cancelled();
    WEFT_ASSERT(result == wait_result::expired);
    throw timed_out();
}

void wait_forever(wait_reason reason) noexcept {
    wait_queue nobody;
    spin_lock lock;
    waiter me;
    lock.lock();
    wait(me, nobody, lock, 0, reason);
    fatal("a wait that nothing can end has ended");
}

void ready(waiter& w) noexcept {
    G* g = w.g;
    if (g == nullptr) {
        w.note->told.wake();
        return;
    }
    M* m = current_g_m();
    if (m == nullptr || m->home != g->home) {
        ready_g_outside(g);
        return;
    }
    enter(m);
    g->since_ns = m->p->now_ns;
    ready_g_inside(m, g);
    leave(m);
}

void ready_all(waiter* chain) noexcept {
    while (chain != nullptr) {
        waiter* next = chain->next;
        ready(*chain);
        chain = next;
    }
}

int64_t now_ns() noexcept { return os::monotonic_ns(); }

}  // namespace weft::detail
