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
// Who: the M's own thread, in the runtime. See: docs/context_switch.md
#pragma once

#include "context/context_inline.h"
#include "sched/current.h"
#include "sched/m.h"
#include "sched/p.h"
#include "sched/scheduler.h"

namespace weft::detail {

// ---- Entering and leaving the runtime: see docs/retake.md for the handshake the word is one half of.

// The slow way of enter(): somebody wants this M's attention.
void enter_slow(M* m) noexcept;

// From here on m's P stays m's, until leave(). No user code, allocation or exception in between.
inline void enter(M* m) noexcept {
    WEFT_DCHECK(m->in_runtime.load(relaxed) == 0);
    m->in_runtime.store(1, relaxed);  // relaxed: the retaker's heavy fence orders it
    compiler_fence();
    // relaxed: as above
    if (m->p->owner.load(relaxed) != reinterpret_cast<uintptr_t>(m)) [[unlikely]] enter_slow(m);
}

inline void leave(M* m) noexcept {
    compiler_fence();
    m->in_runtime.store(0, relaxed);  // relaxed: as in enter
}

// The M the caller runs on as a green thread; nullptr in a plain thread (or on g0).
[[nodiscard]] inline M* current_g_m() noexcept {
    M* m = current_m();
    return m != nullptr && m->g != nullptr ? m : nullptr;
}

// ---- Switching.

// Leaves the current G, for what m->after says, for the next G of the P or for g0. Returns on the M that resumes the G.
[[nodiscard]] M* switch_away(M* m) noexcept;

// The current G is finished. Leaves its stack for good; or, if the next G of the P has not started yet, returns that one, to be run
// by the caller on this stack: Gs that run to completion share one hot stack.
[[nodiscard]] G* exit_g(M* m) noexcept;

// From g0: runs g until some G has nothing to switch to.
void execute(M* m, G* g) noexcept;

// Does what m->after says; step 4.
void finish_switch(M* m) noexcept;

}  // namespace weft::detail
