// blocking.h: blocking calls (weft::blocking), from the scheduler's side.
//
// M::in_call is set during a call: the monitor takes the P after p_watch::call_allowance_ns,
// without reading the thread's CPU time. Meanwhile the M is lent: m->g is nullptr, so checks find a
// plain thread, and m->lent_by is the G, in state in_call. Its context says where its frames are,
// for dumps. The call runs on g0's stack, below execute(); after C's run_blocking_enter on the G's.
// The gate of a marked G (preempt.h) is shut: no signal interrupts a call.
//
// Where threads are scarce, so that perhaps no M can take the P, a call first takes a place, or
// parks for one: call_permits.h, docs/runtime.md#os-threads.
//
// Threads: a G, outside the runtime.
// See:     docs/blocking.md
#pragma once

#include <cstdint>

#include <weft/blocking.h>
#include <weft/run/context.h>

#include "context/frame_record.h"

namespace weft::detail {

struct G;

// begin_blocking for a call on the G's own stack. at: where that stack is, for dumps.
void begin_blocking(open_call& call, const call_site& site, hand_off when, const run_context_t& at) noexcept;

// For at: the caller of the function that this is inlined in.
[[gnu::always_inline]] inline run_context_t find_caller() noexcept {
    frame_record* record = record_of(WEFT_FRAME_POINTER());
    return {record + 1, __builtin_return_address(0), record->outer};
}

// The G in a blocking call on m, the caller's M or nullptr; else nullptr.
[[nodiscard]] const G* lender_of(const M* m) noexcept;

}  // namespace weft::detail
