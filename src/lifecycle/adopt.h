// adopt.h: a thread that becomes the main green thread on its own stack.
//
// weft::main runs a function as the main G on a new stack; the thread's stack is M0's g0. In C, the
// code between run_scheduler_init() and run_scheduler_stop() is the main G. So the stacks are
// swapped: the main G keeps the thread's, and M0's g0 gets one from the pool.
//
// Begin:  1  makes the scheduler, M0, the main G, and a stack for g0
//         2  the thread becomes M0; its stack gets a record, as stacks in slabs have
//         3  the main G switches to g0, which saves its context
//         4  g0 enters the scheduling loop and runs the main G first: begin returns
//
// Then the main G parks, is stolen and runs on any M, like any G: its stack is ordinary memory to
// CPU, kernel and unwinder.
//
// End:    1  the main G locks leaving, and asks all Ms to stop: no G is scheduled from here on
//         2  it switches to its M's g0, which unlocks leaving once the context is saved
//         3  M0's loop ends because the scheduler stops; its g0 locks leaving, and so waits for
//            step 2
//         4  M0 leaves g0's stack for good and resumes the main G, on its first thread
//         5  the thread stops being an M; then as at the end of weft::main
//
// If M0 runs another G, step 3 waits for its next scheduling point; without one it blocks this
// stop, like runtime::stop().
//
// Rejected. Pinning the main G to M0 would make each park a futex sleep, 100 times the cost;
// programs may do so. The end needs no queue to M0: M0 leaves its loop anyway, and no other thread
// can take the G. An end on another thread would let main() return on one that libc did not start
// it on.
//
// stack::high (for dumps) and the overflow report know this stack. It has the system's guard: an
// overflow is an access just below its bounds, or within them if it could not grow (crash.cc). It
// is never recycled, because its G ends only here. To sanitizers it is the thread's.
//
// See: docs/c_api.md, docs/runtime.md
#pragma once

#include <weft/detail/source_location.h>
#include <weft/runtime.h>

namespace weft::detail {

struct G;

// Makes the caller, a plain thread, the main G of a new default runtime. Precondition:
// claim_main(). Throws resource_exhausted, std::invalid_argument or std::bad_alloc, without any
// change.
void begin_on_this_stack(const runtime_options& options, source_location where);

// True if the caller is that G.
[[nodiscard]] bool is_on_own_stack(const G* g) noexcept;

// The reverse, called by that G; then release_main(). False: a G has not returned; its scheduler is
// left for ever.
[[nodiscard]] bool end_on_this_stack() noexcept;

// The same with a deadline, as runtime::stop: first cancels waits until the other Gs have finished.
[[nodiscard]] bool end_on_this_stack_by(int64_t deadline_ns, stop_outcome& done) noexcept;

}  // namespace weft::detail
