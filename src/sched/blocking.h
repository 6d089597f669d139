// blocking.h: declared blocking calls, from the scheduler's side.
//
// A G in such a call is in user code that has said so: M::in_call lets the monitor take the P away after monitor::call_allowance_ns
// instead of asking for CPU time first. Nothing else tells it from a G that blocks undeclared, and so the guard around a call is a
// few plain stores.
//
// While the call goes on the M is lent: m->g is nullptr, so whoever asks finds a plain thread, and m->lent_by is the G. Its state is
// in_call, and its context says where its frames are, so that dumps can show them: the caller's does not end before the call has, which
// runs on g0's stack, below the frame of execute(). (C's run_blocking_enter leaves it on the G's own stack.)
//
// No signal of ours comes to a call: the gate of a marked G (preempt.h) is shut when it lends its M, and opened when it has it back.
//
// Giving the P away before the call pays if the call is long and somebody waits. How long calls take is known for each place they
// are made from: some are timed, and those that are expected to be long always are.
//
// Places. When RUN_MAX_THREADS is reached there is no M to give the P to, and calls would hold up all else. So where threads are scarce
// (the limit is low, or half of it is used) a call first takes one of as many places as Ms may be without a P; who finds none parks, first
// come first served, while others run. Their number follows that of Ps: call_places.h.
//
// Rejected. A state of the owner word with an exchange at each end (Go's way; two locked instructions, and no gain: the monitor's fence is
// paid for when a P is taken, not for each call). A pool of threads for calls (a hand-over to another thread and back for each).
//
// Who: a G, outside of the runtime.
// See: docs/blocking.md
#pragma once

#include <cstdint>

#include <weft/blocking.h>
#include <weft/run/context.h>

namespace weft::detail {

struct G;

// As begin_blocking, for a call that stays on the G's own stack. at: where that is to be found meanwhile, for dumps.
void begin_blocking(open_call& call, const call_site& site, hand_off when, const run_context_t& at) noexcept;

// For at: who has called the function that this is inlined in.
[[gnu::always_inline]] inline run_context_t find_caller() noexcept {
    void** frame = static_cast<void**>(__builtin_frame_address(0));
    return {frame + 2, __builtin_return_address(0), frame[0]};
}

// The G that has lent m for a blocking call; nullptr if there is none. m: the caller's, or nullptr.
[[nodiscard]] const G* lender_of(const M* m) noexcept;

}  // namespace weft::detail
