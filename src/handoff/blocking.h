// blocking.h: blocking calls (weft::blocking), from the scheduler's side.
//
// A G in a blocking call runs user code, with M::in_call set: the monitor takes the P after
// p_watch::call_allowance_ns, without reading the thread's CPU time. Nothing else marks the call,
// so it costs a few plain stores.
//
// During the call the M is lent: m->g is nullptr, so checks find a plain thread, and m->lent_by is
// the G, in state in_call. Its context says where its frames are, for dumps. The call runs on g0's
// stack, below execute(), and the caller's frame outlives it. (C's run_blocking_enter stays on the
// G's stack.) The gate of a marked G (preempt.h) is shut then: no signal interrupts a call.
//
// Handing off the P first pays if the call is long and work waits. Durations are learned for each
// call site: some calls are timed, those expected to be long always.
//
// Places. At RUN_MAX_THREADS no M can take the P, and calls would delay all else. So where threads
// are scarce (a low limit, or half of it used), a call first takes one of as many places as Ms may
// be without a P (call_permits.h), or parks for one, first come first served.
//
// Threads: a G, outside the runtime.
// See:     docs/blocking.md
#pragma once

#include <cstdint>

#include <weft/blocking.h>
#include <weft/run/context.h>

namespace weft::detail {

struct G;

// begin_blocking for a call on the G's own stack. at: where that stack is, for dumps.
void begin_blocking(open_call& call, const call_site& site, hand_off when, const run_context_t& at) noexcept;

// For at: the caller of the function that this is inlined in.
[[gnu::always_inline]] inline run_context_t find_caller() noexcept {
    void** frame = static_cast<void**>(__builtin_frame_address(0));
    return {frame + 2, __builtin_return_address(0), frame[0]};
}

// The G that has lent m, the caller's M or nullptr, for a blocking call; else nullptr.
[[nodiscard]] const G* lender_of(const M* m) noexcept;

}  // namespace weft::detail
