// switch.h: the switch from one G to the next.
//
// Its steps 1 to 5 are those of docs/context_switch.md. Until step 4 an object's lock may be held,
// so only the P's run_next and ring are checked; g0 does the rest. The switch returns the M on
// which the G resumes, which may be another.
//
// The common path is inlined into yield, park and exit only, because it makes its function save the
// callee-saved registers.
//
// Threads: the M's own, in the runtime.
// See: docs/context_switch.md
#pragma once

#include "context/context_inline.h"
#include "os/probe.h"
#include "sched/current.h"
#include "sched/m.h"
#include "sched/p.h"
#include "sched/park.h"
#include "sched/recycle.h"
#include "sched/schedule.h"
#include "sched/scheduler.h"
#include "sched/spawn.h"

// Sanitizers need the pieces of a switch separate and uninstrumented.
#if defined(WEFT_ASAN) || defined(WEFT_TSAN)
#define WEFT_SWITCH_PIECE [[gnu::noinline]] WEFT_NO_SANITIZE inline
#else
#define WEFT_SWITCH_PIECE [[gnu::always_inline]] inline
#endif

namespace weft::detail {

// ---- Entering and leaving the runtime: the handshake of docs/retake.md.

// Slow path of enter().
[[nodiscard, gnu::cold]] bool enter_slow(M* m) noexcept;

// True: m keeps its P until leave(); no user code, allocation or exception may occur before that.
// False: m has lost its P: retake.h.
[[nodiscard, gnu::always_inline]] inline bool enter(M* m) noexcept {
    begin_internals();
    WEFT_DCHECK(m->in_runtime.load(relaxed_own) == 0);
    m->in_runtime.store(1, relaxed);  // relaxed: the thief's heavy fence orders it
    compiler_fence();
    // acquire: pairs with a thief's T4, see p.h
    if (m->p->owner.load(acquire) == reinterpret_cast<uintptr_t>(m)) [[likely]]
        return true;
    return enter_slow(m);
}

[[gnu::always_inline]] inline void leave(M* m) noexcept {
    m->in_runtime.store(0, release);  // pairs with a thief's T3
    end_internals();
}

// The M that runs the calling G; nullptr in a plain thread or on g0.
[[nodiscard, gnu::always_inline]] inline M* current_g_m() noexcept {
    M* m = current_m();
    return m != nullptr && m->g != nullptr ? m : nullptr;
}

// ---- Rare parts.

// Step 2 for a G with special bits that leaves, and one that enters.
[[gnu::cold]] void leave_special(M* m, G* from) noexcept;
[[gnu::cold]] void enter_special(M* m, G* to) noexcept;

// Waits while a dump reads g's stack; g is then in state before, which is not running.
void await_thaw(G* g, g_state before) noexcept;

// Does both. Returns where to resume: in to or, if one of the two is pinned, on g0, with to in
// m->picked.
[[gnu::noinline]] run_context_t* switch_special(M* m, G* from, G* to) noexcept;

// Whether p must go through g0 for its timers.
[[nodiscard, gnu::noinline]] bool timers_want_g0(P* p) noexcept;

// Step 4 for a park with a deadline, and for rare kinds.
[[gnu::noinline]] void finish_park_claimable(M* m) noexcept;
[[gnu::noinline]] void finish_rare(M* m) noexcept;

// As switch_g_to_g, to g0.
[[nodiscard, gnu::noinline]] M* switch_g_to_g0(M* m, G* from, bool dying) noexcept;

// ---- Common path.

// The next G of p's run_next or ring; nullptr if these are empty or the pass through g0 is due. A G
// that has never run is returned only if a stack is at hand.
[[nodiscard, gnu::always_inline]] inline G* pick_direct(M* m, P* p) noexcept {
    const uint32_t left = p->ticks_left.load(relaxed_own) - 1;
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

// Step 2. Returns where to resume.
[[nodiscard, gnu::always_inline]] inline run_context_t* hand_m_over(M* m, G* from, G* to) noexcept {
    *m->eh = to->eh;
    m->g = to;
    to->state.store(g_state::running, relaxed);  // relaxed: ours; dumps pair by heavy fence
    compiler_fence();
    WEFT_PROBE2(run, to->id, m->index);
    // acquire: pairs with a thaw. The freezer's heavy fence orders the store before it.
    if ((from->special.load(relaxed_own) | to->special.load(acquire)) != 0) [[unlikely]]
        return switch_special(m, from, to);
    return &to->context;
}

// For sanitizers: from leaves m, and the next context frees its locks for it.
inline void tell_leaving(const M* m, const G* from) noexcept {
    if (!sanitized) return;
    tell_released(&from->since_ns);  // for a thread that finds it parked: abandon.cc
    using kind = after_switch::kind;
    const after_switch& after = m->after;
    if (after.what == kind::park || after.what == kind::park_claimable) tell_released(after.lock);
    if (after.what != kind::park_claimable_many) return;
    for (uint32_t i = 0; i < after.bits; ++i) tell_released(after.locks[i].lock);
}

// For sanitizers: g runs again, after the thread that made it runnable, and one that has thawed it.
[[gnu::always_inline]] WEFT_NO_SANITIZE inline void tell_resumed(const G* g) noexcept {
    tell_acquired(&g->state);
    tell_acquired(&g->special);
}

// For sanitizers: the stack that m enters.
[[gnu::always_inline]] WEFT_NO_SANITIZE inline fiber& fiber_of(M* m) noexcept {
    return m->g != nullptr ? m->g->stack->sanitizers : m->g0_fiber;
}

// Steps 2 and 3. Returns the M on which from resumes.
[[nodiscard]] WEFT_SWITCH_PIECE M* switch_g_to_g(M* m, G* from, G* to) noexcept {
    from->eh = *m->eh;
    tell_leaving(m, from);
    run_context_t* target = hand_m_over(m, from, to);
    leave_stack(from->stack->sanitizers, fiber_of(m), false);
    m = static_cast<M*>(switch_context(&from->context, target, m));
    arrive_on_stack(from->stack->sanitizers);
    tell_resumed(from);
    return m;
}

// Steps 2 and 3 for a finished G.
[[noreturn]] WEFT_SWITCH_PIECE void switch_dead_g_to_g(M* m, G* from, G* to) noexcept {
    run_context_t* target = hand_m_over(m, from, to);
    leave_stack(from->stack->sanitizers, fiber_of(m), true);
    leave_context(&from->context, target, m);
}

// Step 4. Each switch away from a G writes m->after; the one from g0 clears it.
[[gnu::always_inline]] inline void finish_switch(M* m) noexcept {
    const auto what = m->after.what;
    G* g = m->after.g;
    if (what == after_switch::kind::park) {
        g->set_state(g_state::running, g_state::waiting);
        m->after.lock->assume_held();               // taken by g
        m->after.lock->unlock_bits(m->after.bits);  // from here g may run elsewhere
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

// Leaves the current G, as m->after says, for the P's next G or g0. Returns the M that resumes it.
// m has its P.
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

// Ends the current G: enters the runtime and leaves the stack for good. Or returns the P's next G,
// which has not started, for the caller to run on the same, hot stack.
[[nodiscard]] G* exit_g(M* m) noexcept;

// From g0: runs g, until a G has no other to switch to.
void execute(M* m, G* g) noexcept;

// As execute(), but leaves g0's stack for good. to has run before.
[[noreturn]] void leave_g0(M* m, G* to) noexcept;

}  // namespace weft::detail
