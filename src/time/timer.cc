// timer.cc: timers and tickers. See timer_state.h.
#include <algorithm>
#include <memory>
#include <new>
#include <optional>

#include <weft/detail/allocate.h>
#include <weft/timer.h>

#include "base/assert.h"
#include "context/sanitizer.h"
#include "os/os.h"
#include "os/probe.h"
#include "sched/park.h"
#include "sched/simulation.h"
#include "sched/switch.h"
#include "time/timer_state.h"
#include "wait/thread_note.h"

namespace weft::detail {

namespace {

int64_t saturated_sum(int64_t time_ns, int64_t more_ns) noexcept {
    return more_ns >= never - time_ns ? never : time_ns + more_ns;
}

constexpr std::size_t function_offset(std::size_t align) noexcept {
    return (sizeof(timer_state) + align - 1) / align * align;
}

constexpr std::size_t block_align(const timed_function* f) noexcept {
    return f == nullptr ? alignof(timer_state) : std::max(alignof(timer_state), f->align);
}

void free_block(timer_state& t) noexcept {
    const std::size_t align = block_align(t.function);
    std::destroy_at(&t.channel());
    std::destroy_at(&t);
    deallocate(&t, align);
}

// ---- These require the channel's lock.

// Moves the alarm to q, which belongs to home. Returns true if q must be checked earlier than
// before. An alarm that is already in q, and early enough, stays, because most timers are put off
// repeatedly.
bool place_locked(timer_state& t,
                  timer_queue& q,
                  scheduler* home,
                  int64_t now_ns) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {  // one of two locks
    const bool put_off = t.due_ns >= t.alarm_ns && t.due_ns != never;
    // relaxed: our own P's queue stays, and for external callers either value is right
    if (t.placed && put_off && t.alarm.home.load(relaxed) == &q) return false;  // fire() sees due_ns
    const int64_t before_ns = q.next_deadline();
    bool locked = false;
    if (t.placed) {
        timer_queue& from = lock_home(t.alarm);
        if (t.is_on_its_way()) {
            from.lock.unlock();
            return false;  // as above
        }
        from.remove_locked(t.alarm);
        t.placed = false;
        locked = &from == &q && t.due_ns != never;
        if (!locked) from.lock.unlock();
    }
    if (t.due_ns == never) return false;
    t.placed = true;
    t.alarm_ns = t.due_ns;
    t.where = home;
    if (!locked) q.lock.lock();
    timer_queue* open = &q;
    if (q.closed_locked()) {  // its P has gone
        q.lock.unlock();
        open = &home->ps[0].timers;
        open->lock.lock();
    }
    t.alarm.deadline_ns = t.due_ns;
    open->add_locked(t.alarm, now_ns);
    const bool earlier = open != &q || q.next_deadline() < before_ns;
    open->lock.unlock();
    return earlier;
}

void take_out_locked(timer_state& t) noexcept {
    if (!t.placed) return;
    timer_queue& q = lock_home(t.alarm);
    q.lock.assume_held();
    if (!t.is_on_its_way()) {
        q.remove_locked(t.alarm);
        t.placed = false;
    }
    q.lock.unlock();
}

// A pending tick stays.
void disarm_locked(timer_state& t) noexcept {
    t.armed = false;
    take_out_locked(t);
}

// ---- Firing, on g0 of m.

// Skips a tick if the buffer is full. Requires the lock and releases it.
void give_tick(M* m, timer_state& t, int64_t due_ns, int64_t now_ns) noexcept WEFT_RELEASE(t.channel().lock) {
    timer_state::channel_state& c = t.channel();
    tick value{std::chrono::nanoseconds(due_ns)};
    waiter* receiver = nullptr;
    bool ok = false;
    static_cast<void>(c.begin_send(value, receiver, ok));
    t.channel().lock.unlock();
    if (receiver == nullptr) return;
    // As finish_send(), but from g0.
    static_cast<std::optional<tick>*>(receiver->slot)->emplace(value);
    receiver->ok = true;
    G* g = receiver->g;
    if (g == nullptr) {
        receiver->note->wakeup.wake();
    } else if (g->home == m->home) {
        ready_g_last(m, g, now_ns);
    } else {
        WEFT_PROBE2(ready, g->id, -1);
        ready_g_outside(g);
    }
}

// The alarm has arrived and is not placed again. Requires the lock and releases it.
void give_up_call(timer_state& t) noexcept WEFT_RELEASE(t.channel().lock) {
    const bool kept_itself = t.keeps_itself;
    t.keeps_itself = false;
    t.channel().lock.unlock();
    if (kept_itself) t.channel().drop();
}

// When to try again to call a function without memory for its G.
constexpr int64_t without_memory_ns = 1'000'000;

// m is nullptr if the runtime has stopped. No lock is held.
void fire(M* m, timer& alarm, int64_t now_ns) noexcept {
    timer_state& t = timer_state::of(alarm);
    const bool has_g = t.function == nullptr || m == nullptr || can_call(m);
    t.channel().lock.lock();
    t.placed = false;
    if (!has_g && t.due_ns <= now_ns) t.due_ns = saturated_sum(now_ns, without_memory_ns);  // I2
    const arrival why = t.arrived(m != nullptr, now_ns);
    if (why == arrival::orphaned) {
        t.channel().lock.unlock();
        free_block(t);
        return;
    }
    if (why == arrival::stopped) {
        t.armed = false;
        give_up_call(t);
        return;
    }
    if (m == nullptr) __builtin_unreachable();  // that was arrival::stopped
    if (why == arrival::early) {
        place_locked(t, m->p->timers, m->home, now_ns);
        if (!t.placed) {
            give_up_call(t);  // its time never comes
            return;
        }
        t.channel().lock.unlock();
        return;
    }
    const int64_t due_ns = t.due_ns;
    if (t.period_ns == 0) {
        t.armed = false;
    } else {
        const int64_t missed = (now_ns - due_ns) / t.period_ns;
        t.due_ns = saturated_sum(due_ns + missed * t.period_ns, t.period_ns);
        place_locked(t, m->p->timers, m->home, now_ns);
    }
    if (t.function != nullptr) {
        start_call(m, t, now_ns);
    } else {
        give_tick(m, t, due_ns, now_ns);
    }
}

// No handle is left, and all else is done. False: fire() frees the block (I3).
bool may_free(timer_state& t) noexcept {
    spin_lock& lock = t.channel().lock;
    lock.lock();
    const bool left = t.leave_to_alarm();
    lock.unlock();
    return !left;
}

// No handle is left, or only the caller's. Requires the lock and releases it.
void finish_locked(timer_state& t) noexcept WEFT_RELEASE(t.channel().lock) {
    disarm_locked(t);
    const bool waited_on = !t.channel().receivers.empty();
    const bool on_its_way = t.placed;
    t.channel().lock.unlock();
    if (waited_on) [[unlikely]] {
        chan_destroyed_while_waited_on();
        return;
    }
    if (t.function != nullptr) t.function->destroy(timer_function(t));
    if (!on_its_way || may_free(t)) free_block(t);  // I3
}

// The last handle was dropped. No call can begin: a timer is stopped before its handle is dropped,
// and the call of a detached one has a handle.
void finish(chan_core& core) noexcept {
    timer_state& t = timer_state::of(core);
    t.channel().lock.lock();
    finish_locked(t);
}

// ---- Starting.

timer_queue& queue_for_outside(scheduler& s, const timer_state& t) noexcept {
    const auto spread = reinterpret_cast<uintptr_t>(&t) / sizeof(timer_state);
    return s.ps[static_cast<uint32_t>(spread % s.ps.in_use())].timers;
}

}  // namespace

timer_state::timer_state(const timed_function* f, source_location from) noexcept
    : function(f), made_at(from), maker(timer_maker::of_calls(f)) {
    alarm.fire = &fire;
    channel_state::create_at(channel_block, buffered)->last_drop = &finish;
}

timer_state* timer_make(const timed_function* f, source_location where) {
    const std::size_t size = f == nullptr ? sizeof(timer_state) : function_offset(f->align) + f->size;
    return ::new (allocate(size, block_align(f))) timer_state(f, where);
}

void* timer_function(timer_state& t) noexcept {
    return reinterpret_cast<std::byte*>(&t) + function_offset(t.function->align);
}

void timer_abandon(timer_state* t) noexcept { free_block(*t); }

bool timer_start(timer_state& t, int64_t delay_ns, int64_t period_ns) {
    M* m = current_g_m();
    timer_state::channel_state& c = t.channel();
    const int64_t now_ns = clock_ns();
    scheduler* wanted = m != nullptr ? m->home : nullptr;
    c.lock.lock();
    while (!t.placed && wanted == nullptr) {
        c.lock.unlock();
        wanted = &pin_default_scheduler();  // may start it, and throw
        c.lock.lock();
    }
    const bool ticked = c.clear_locked() != 0;
    const bool prevented = t.armed || ticked;
    t.armed = true;
    t.due_ns = saturated_sum(now_ns, delay_ns);
    t.period_ns = period_ns;

    // A placed timer stays with its runtime.
    const bool as_before = t.placed;
    scheduler* home = as_before ? static_cast<scheduler*>(t.where) : wanted;
    const bool inside = m != nullptr && m->home == home;
    timer_queue* q = nullptr;
    const bool has_p = inside && enter(m);
    if (has_p) {
        m->p->now_ns = now_ns;
        q = &m->p->timers;
    } else {
        if (inside) leave(m);
        if (as_before || inside) home->pin();
        // relaxed: place_locked() checks again
        q = as_before ? t.alarm.home.load(relaxed) : &queue_for_outside(*home, t);
    }
    const bool earlier = place_locked(t, *q, home, now_ns);
    if (has_p) tell_released(&c.lock);             // TSan ignores the unlock
    if (t.function != nullptr) tell_released(&t);  // the call acquires it
    c.lock.unlock();
    if (has_p) {
        if (earlier) after_push(*home, home->idle);  // otherwise the sleeping M knows an earlier deadline
        leave(m);
    } else {
        if (earlier) wake_for_outside(*home, procs_max);
        home->unpin();
    }
    if (as_before && m == nullptr && wanted != nullptr) wanted->unpin();  // another thread has placed it meanwhile
    return prevented;
}

bool timer_stop(timer_state& t) noexcept {
    timer_state::channel_state& c = t.channel();
    c.lock.lock();
    const bool ticked = c.clear_locked() != 0;
    const bool prevented = t.armed || ticked;
    disarm_locked(t);
    c.lock.unlock();
    return prevented;
}

void timer_drop(timer_state* t) noexcept {
    t->channel().lock.lock();
    // A call that begins takes a handle under the lock. What was done with another handle happened
    // before. acquire: pairs with the drop of that handle
    if (t->channel().handles.load(acquire) == 1) {
        finish_locked(*t);
        return;
    }
    disarm_locked(*t);
    t->channel().lock.unlock();
    t->channel().drop();
}

void timer_detach(timer_state* t) noexcept {
    timer_state::channel_state& c = t->channel();
    c.lock.lock();
    const bool keeps_itself = t->function != nullptr && t->placed && t->armed;
    t->keeps_itself = keeps_itself;
    c.lock.unlock();
    if (!keeps_itself) c.drop();
}

recv_chan<tick> timer_chan(timer_state& t) noexcept {
    if (t.function != nullptr) return chan<tick>::nil();
    return chan_access::handle(t.channel());
}

}  // namespace weft::detail
