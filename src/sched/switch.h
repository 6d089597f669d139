// switch.h: from one G to the next.
//
// A G that stops running picks its successor itself and switches to it, without passing through g0. Whatever must happen once
// its registers are saved (publish the park and unlock the object, requeue it, free its stack) cannot be done by itself;
// it is left in M::after and done by whoever runs next on the M, first thing after the switch. While an object's lock
// waits for that, only the P's own run_next and ring are looked at; everything else is g0's business.
//
// Protocol of a switch, from G a to G b on M m:
//   1  a, in the runtime (m->in_runtime is 1), writes m->after and picks b
//   2  a stores the exception state, writes b.state = running, looks at a.special | b.special
//   3  the registers of a are saved, those of b restored
//   4  b (or b's first frame) runs finish_switch(m): a's state, and its lock or stack, change hands here
//   5  b leaves the runtime
//
// The switch returns the M it arrived on: nothing kept from before may be used for that.
//
// All of the common path is inlined into the three functions that contain it (yield, park, exit), because an inline switch makes its
// container save the callee-saved registers: once is enough. What is rare is out of line, in switch.cc.
//
// Who: the M's own thread, in the runtime. See: docs/context_switch.md
#pragma once

#include "context/context_inline.h"
#include "sched/current.h"
#include "sched/m.h"
#include "sched/p.h"
#include "sched/park.h"
#include "sched/recycle.h"
#include "sched/schedule.h"
#include "sched/scheduler.h"
#include "sched/spawn.h"

// The pieces of a switch. Sanitizers want them apart and uninstrumented.
#if defined(WEFT_ASAN) || defined(WEFT_TSAN)
#define WEFT_SWITCH_PIECE [[gnu::noinline]] WEFT_NO_SANITIZE inline
#else
#define WEFT_SWITCH_PIECE [[gnu::always_inline]] inline
#endif

namespace weft::detail {

// ---- Entering and leaving the runtime: see docs/retake.md for the handshake the word is one half of.

// The slow way of enter(): somebody wants this M's attention, or has taken its P.
[[nodiscard, gnu::cold]] bool enter_slow(M* m) noexcept;

// True: from here on m's P stays m's, until leave(). No user code, allocation or exception in between. False: m has lost its P, and
// works as a plain thread does; what parks, yields or ends goes through retake.h.
[[nodiscard, gnu::always_inline]] inline bool enter(M* m) noexcept {
    WEFT_DCHECK(m->in_runtime.load(relaxed) == 0);  // relaxed: only we write it
    m->in_runtime.store(1, relaxed);                // relaxed: the thief's heavy fence orders it
    compiler_fence();
    // acquire: pairs with a thief's T4, see p.h
    if (m->p->owner.load(acquire) == reinterpret_cast<uintptr_t>(m)) [[likely]]
        return true;
    return enter_slow(m);
}

[[gnu::always_inline]] inline void leave(M* m) noexcept {
    m->in_runtime.store(0, release);  // pairs with a thief's T3
}

// The M the caller runs on as a green thread; nullptr in a plain thread (or on g0).
[[nodiscard, gnu::always_inline]] inline M* current_g_m() noexcept {
    M* m = current_m();
    return m != nullptr && m->g != nullptr ? m : nullptr;
}

// ---- The rare parts.

// Step 2 for Gs with special bits: what is to be done for one that leaves, and for one that enters.
[[gnu::cold]] void leave_special(M* m, G* from) noexcept;
[[gnu::cold]] void enter_special(M* m, G* to) noexcept;

// Waits while a dump reads g's stack. Until then it is in state before, which is not running.
void await_thaw(G* g, g_state before) noexcept;

// Both, and says where to go on: in to, or, if one of the two is pinned, on g0, with to in m->picked.
[[gnu::cold]] run_context_t* switch_special(M* m, G* from, G* to) noexcept;

// Whether p, which has timers, has to go through g0 for them.
[[nodiscard, gnu::noinline]] bool timers_want_g0(P* p) noexcept;

// Step 4 for a park with a deadline, and for what is rare.
[[gnu::noinline]] void finish_park_claimable(M* m) noexcept;
[[gnu::noinline]] void finish_rare(M* m) noexcept;

// To g0, because there is nothing local to run. As switch_g_to_g.
[[nodiscard, gnu::noinline]] M* switch_g_to_g0(M* m, G* from, bool dying) noexcept;

// ---- The common path.

// The next G of p's own run_next or ring, if the way through g0 is not due; nullptr otherwise. A G that has never run is only
// returned if a stack for it is at hand.
[[nodiscard, gnu::always_inline]] inline G* pick_direct(M* m, P* p) noexcept {
    const uint32_t left = p->ticks_left.load(relaxed) - 1;  // relaxed: only we write it
    if (left == 0) [[unlikely]]
        return nullptr;
    if (p->timers.next_deadline() != never && timers_want_g0(p)) [[unlikely]]
        return nullptr;
    G* g = pick_local(p);
    if (g == nullptr) return nullptr;
    if (!g->started() && g->stack == nullptr && p->stacks.empty()) [[unlikely]] {
        m->picked = g;
        return nullptr;
    }
    p->ticks_left.store(left, relaxed);  // relaxed: as above
    return g;
}

// Step 2: m enters to, and has left from. Returns where to go on: in to, but for what switch_special says.
[[nodiscard, gnu::always_inline]] inline run_context_t* hand_m_over(M* m, G* from, G* to) noexcept {
    *m->eh = to->eh;
    m->g = to;
    to->state.store(g_state::running, relaxed);  // relaxed: only we have it; dumps pair by heavy fence
    compiler_fence();
    // acquire: pairs with a thaw. That "running" is stored before frozen is looked at, the heavy fence of who froze it sees to.
    if ((from->special.load(relaxed) | to->special.load(acquire)) != 0) [[unlikely]]  // relaxed: the owner's
        return switch_special(m, from, to);
    tell_acquired(&to->special);
    return &to->context;
}

// For sanitizers: the stack that m goes on on.
[[gnu::always_inline]] WEFT_NO_SANITIZE inline fiber& fiber_of(M* m) noexcept {
    return m->g != nullptr ? m->g->stack->sanitizers : m->g0_fiber;
}

// Steps 2 and 3. Returns the M on which from goes on.
[[nodiscard]] WEFT_SWITCH_PIECE M* switch_g_to_g(M* m, G* from, G* to) noexcept {
    from->eh = *m->eh;
    run_context_t* target = hand_m_over(m, from, to);
    leave_stack(from->stack->sanitizers, fiber_of(m), false);
    m = static_cast<M*>(switch_context(&from->context, target, m));
    arrive_on_stack(from->stack->sanitizers);
    return m;
}

// Steps 2 and 3 for a G that is finished.
[[noreturn]] WEFT_SWITCH_PIECE void switch_dead_g_to_g(M* m, G* from, G* to) noexcept {
    run_context_t* target = hand_m_over(m, from, to);
    leave_stack(from->stack->sanitizers, fiber_of(m), true);
    leave_context(&from->context, target, m);
}

// Step 4: does what m->after says. Every switch away from a G writes it anew; the one from g0 clears it.
[[gnu::always_inline]] inline void finish_switch(M* m) noexcept {
    const auto what = m->after.what;
    G* g = m->after.g;
    if (what == after_switch::kind::park) {
        g->set_state(g_state::running, g_state::waiting);
        m->after.lock->unlock_bits(m->after.bits);  // from here on g may run elsewhere
    } else if (what == after_switch::kind::requeue) {
        g->since_ns = m->p->now_ns;
        g->set_state(g_state::running, g_state::runnable);
        push_last(m, g);
    } else if (what == after_switch::kind::die) {
        recycle_g(m, g);
    } else if (what == after_switch::kind::park_claimable) {
        finish_park_claimable(m);
    } else if (what != after_switch::kind::nothing) {
        finish_rare(m);
    }
}

// Leaves the current G, for what m->after says, for the next G of the P or for g0. Returns the M that resumes the G. m has its P.
[[nodiscard, gnu::always_inline]] inline M* switch_away(M* m) noexcept {
    G* from = m->g;
    G* to = pick_direct(m, m->p);
    if (to != nullptr) [[likely]] {
        if (!to->started()) [[unlikely]]
            bind_stack(m, to);
        m = switch_g_to_g(m, from, to);
    } else {
        m = switch_g_to_g0(m, from, false);
    }
    finish_switch(m);
    return m;
}

// The current G is finished. Leaves its stack for good; or, if the next G of the P has not started yet, returns that one, to be run
// by the caller on this stack: Gs that run to completion share one hot stack. Enters the runtime.
[[nodiscard]] G* exit_g(M* m) noexcept;

// From g0: runs g until some G has nothing to switch to.
void execute(M* m, G* g) noexcept;

// As execute(), for a g0 that will never run again: its stack is left for good. to has run before.
[[noreturn]] void leave_g0(M* m, G* to) noexcept;

}  // namespace weft::detail
