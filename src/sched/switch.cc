// switch.cc: rare parts of a switch. Protocol: switch.h.
#include "sched/switch.h"

#include "base/quick_fence.h"
#include "context/fp_control.h"
#include "handoff/injected.h"
#include "handoff/pin.h"
#include "handoff/preempt.h"
#include "handoff/retake.h"
#include "lifecycle/crash.h"
#include "os/cpu_ticks.h"
#include "os/os.h"
#include "os/probe.h"
#include "per_g/held.h"
#include "sched/simulation.h"
#include "sched/switch_hooks.h"

namespace weft::detail {

namespace {

[[gnu::noinline]] WEFT_NO_SANITIZE void switch_g0_to_g(M* m, G* to, bool dying) noexcept {
    m->after.what = after_switch::kind::nothing;
    m->g0_eh = *m->eh;
    *m->eh = to->eh;
    m->g = to;
    to->state.store(g_state::running, relaxed);  // relaxed: as in hand_m_over
    compiler_fence();
    WEFT_PROBE2(run, to->id, m->index);
    if (to->special.load(acquire) != 0) [[unlikely]]
        enter_special(m, to);  // acquire: as in hand_m_over
    leave_stack(m->g0_fiber, to->stack->sanitizers, dying);
    switch_context(&m->g0, &to->context, m);
    arrive_on_stack(m->g0_fiber);
}

}  // namespace

bool enter_slow(M* m) noexcept {
    P* p = m->p;
    const auto self = reinterpret_cast<uintptr_t>(m);
    uintptr_t word = p->owner.load(relaxed);  // relaxed: read again below
    if ((word & attention::fence) != 0) quick_full_fence();
    for (uint32_t attempt = 0;;) {
        word = p->owner.load(acquire);                        // pairs with a thief's T4
        if ((word & ~attention::mask) != self) return false;  // taken: retake.h
        if ((word & attention::asked) != 0) {
            spin_backoff(attempt++);
            continue;
        }
        const uintptr_t heeded = attention::preempt | attention::injected | attention::retake;
        if ((word & heeded) == 0) return true;
        // E4. acq_rel: sees the asker's writes; relaxed: retried
        if (p->owner.compare_exchange_weak(word, word & ~heeded, acq_rel, relaxed)) {
            if ((word & attention::preempt) != 0) p->count.preemptions.add();
            if ((word & (attention::preempt | attention::injected)) != 0) p->end_ticks();
            return true;
        }
    }
}

void leave_special(M* m, G* from) noexcept {
    const uint32_t flags = from->special.load(relaxed_own);
    if ((flags & special::own_fp) != 0) {
        from->fp_control = read_fp_control();
        write_fp_control(default_fp_control());
    }
    if ((flags & special::canary) != 0 && !canary_intact(*from->stack)) report_overflow(*from);
    if ((flags & (special::kept | special::interruptible)) != 0) {
        if ((flags & special::interruptible) != 0) shut_gate(m);
        if ((flags & (special::kept | special::preempted)) == special::kept) stop_keeping(from);
    }
    if ((flags & special::holds) != 0) report_held_mutex(*from, __builtin_frame_address(0));
    if ((flags & special::traced) != 0) record_leave(m, *from);
    if ((flags & special::hooked) != 0) call_hooks_out(m, *from);
}

void await_thaw(G* g, g_state before) noexcept {
    if ((g->special.load(relaxed_own) & special::no_fence) != 0) quick_full_fence();
    while ((g->special.load(acquire) & special::frozen) != 0) {  // pairs with the dump's thaw
        g->state.store(before, relaxed);                         // relaxed: it was, and we own it
        for (uint32_t i = 0; (g->special.load(relaxed) & special::frozen) != 0; ++i)
            spin_backoff(i);                        // relaxed: polled
        g->state.store(g_state::running, relaxed);  // relaxed: the fence below
        WEFT_FULL_FENCE();
    }
}

void enter_special(M* m, G* to) noexcept {
    await_thaw(to, g_state::runnable);
    const uint32_t flags = to->special.load(relaxed);  // relaxed: set by the owner, except watched
    if ((flags & special::traced) != 0) record_run(m, *to);
    if ((flags & special::hooked) != 0) call_hooks_in(m, *to);
    if ((flags & special::own_fp) != 0) write_fp_control(to->fp_control);
    if ((flags & special::interruptible) != 0) open_gate(m);
}

run_context_t* switch_special(M* m, G* from, G* to) noexcept {
    // acquire: as in hand_m_over; relaxed: set by the owner
    if (((from->special.load(relaxed) | to->special.load(acquire)) & ~unsigned{special::traced}) == 0) {
        record_switch(m, *from, *to);
        return &to->context;
    }
    leave_special(m, from);
    // relaxed: set by the owners
    if (((from->special.load(relaxed) | to->special.load(relaxed)) & special::pinned) == 0) {
        enter_special(m, to);
        return &to->context;
    }
    // One M cannot run both in sequence: g0 hands our P off, with to.
    to->state.store(g_state::runnable, relaxed);  // relaxed: it was, and we own it
    *m->eh = m->g0_eh;
    m->g = nullptr;
    m->picked = to;
    P* p = m->p;
    p->ticks_left.store(p->ticks_left.load(relaxed) + 1, relaxed);  // relaxed: only we write it. Not a schedule
    return &m->g0;
}

bool timers_want_g0(P* p) noexcept {
    const uint64_t ticks = os::cpu_ticks();
    if (ticks < p->clock_due && p->clock_due - ticks <= os::clock_interval) return false;
    p->clock_due = ticks + os::clock_interval;
    p->now_ns = clock_ns();
    return p->timers.next_deadline() <= p->now_ns;
}

namespace {

// g was claimed before it was parked.
void ready_not_parked(M* m, G* g) noexcept {
    m->after.what = after_switch::kind::claimed;  // a recording must not name this M's next G as the waker
    if (m->p == nullptr) {
        ready_g_outside(g);
    } else {
        ready_g_inside(m, g);
    }
    m->after.what = after_switch::kind::nothing;
}

}  // namespace

void finish_park_claimable(M* m) noexcept {
    const after_switch after = m->after;
    after.g->set_state(g_state::running, g_state::waiting);
    const bool parked = after.claim->publish_parked();
    after.lock->assume_held();            // taken by g
    after.lock->unlock_bits(after.bits);  // if parked, g may run elsewhere from here
    if (!parked) ready_not_parked(m, after.g);
}

namespace {

// Once published, g may run elsewhere. The frame with the locks stays until g has taken all of them
// (L4), so read none after the last unlock.
void finish_park_claimable_many(M* m) noexcept {
    const after_switch after = m->after;
    after.g->set_state(g_state::running, g_state::waiting);
    const bool parked = after.claim->publish_parked();
    const held_lock* locks = after.locks;
    held_lock next = locks[0];
    for (uint32_t i = 1; i <= after.bits; ++i) {
        const held_lock held = next;
        if (i < after.bits) next = locks[i];
        held.lock->assume_held();  // taken by g
        held.lock->unlock_bits(held.bits);
    }
    if (!parked) ready_not_parked(m, after.g);
}

void make_runnable_outside(G* g) noexcept {
    g->since_ns = os::monotonic_ns();
    g->set_state(g_state::running, g_state::runnable);
}

}  // namespace

void finish_rare(M* m) noexcept {
    G* g = m->after.g;
    switch (m->after.what) {
        case after_switch::kind::park_claimable_many:
            finish_park_claimable_many(m);
            return;
        case after_switch::kind::requeue_outside:
            make_runnable_outside(g);
            push_outside(g);
            return;
        case after_switch::kind::arrive:
            make_runnable_outside(g);
            push_injected(g);
            return;
        case after_switch::kind::die_outside:
            recycle_g_outside(*m->home, g);
            return;
        default:
            fatal("an M found no action to take after a switch: memory was overwritten, or this is a bug in weft");
    }
}

WEFT_NO_SANITIZE M* switch_g_to_g0(M* m, G* from, bool dying) noexcept {
    from->eh = *m->eh;
    tell_leaving(m, from);
    *m->eh = m->g0_eh;
    m->g = nullptr;
    if (from->special.load(relaxed) != 0) [[unlikely]]
        leave_special(m, from);  // relaxed: the owner's
    leave_stack(from->stack->sanitizers, m->g0_fiber, dying);
    m = static_cast<M*>(switch_context(&from->context, &m->g0, m));
    arrive_on_stack(from->stack->sanitizers);
    tell_resumed(from);
    return m;
}

G* exit_g(M* m) noexcept {
    tell_released(m->home);  // for a thread that waits for the end of all Gs
    if (!enter(m)) [[unlikely]]
        exit_without_p(m);
    G* from = m->g;
    WEFT_PROBE2(end, from->id, m->index);
    G* to = pick_direct(m, m->p);
    if (to == nullptr) {
        m->after.what = after_switch::kind::die;
        m->after.g = from;
        static_cast<void>(switch_g_to_g0(m, from, true));
    } else {
        if (!to->started()) {
            const bool plain =
                (from->special.load(relaxed_own) | to->special.load(relaxed_own)) == 0 && from->size_class == 0;
            if (!sanitized && plain && to->stack == nullptr) {
                // The stack is hot and holds only our caller's frame.
                WEFT_PROBE2(run, to->id, m->index);
                hand_stack_over(m, from, to);
                return to;
            }
            bind_stack(m, to);
        }
        m->after.what = after_switch::kind::die;
        m->after.g = from;
        switch_dead_g_to_g(m, from, to);
    }
    fatal("a finished green thread was resumed: memory was overwritten, or this is a bug in weft");
}

void execute(M* m, G* g) noexcept {
    P* p = m->p;
    p->ticks_left.store(p->ticks_left.load(relaxed_own) - 1, relaxed_own);
    if (!g->started()) bind_stack(m, g);
    switch_g0_to_g(m, g, false);
    finish_switch(m);
}

void leave_g0(M* m, G* to) noexcept {
    switch_g0_to_g(m, to, true);
    fatal("an M resumed its g0 after its last switch: memory was overwritten, or this is a bug in weft");
}

}  // namespace weft::detail
