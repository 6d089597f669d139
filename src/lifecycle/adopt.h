// adopt.h: a thread that becomes the main green thread on its own stack.
//
// In C, the code after run_scheduler_init() is the main G. It keeps the thread's stack, and M0's g0
// gets one from the pool.
//
// Begin:  1  makes the scheduler, M0, the main G, and a stack for g0
//         2  the thread becomes M0; its stack gets a record
//         3  the main G switches to g0, which saves its context
//         4  g0 enters the scheduling loop and runs the main G first: begin returns
//
// End:    1  the main G locks leaving, and asks all Ms to stop: no G is scheduled from here on
//         2  it switches to its M's g0, which unlocks leaving once the context is saved
//         3  M0's loop ends; its g0 locks leaving, and so waits for step 2
//         4  M0 leaves g0's stack for good and resumes the main G, on its first thread
//         5  the thread stops being an M; then as at the end of weft::main
//
// If M0 runs another G, step 3 waits for that G's next scheduling point, as runtime::abandon()
// does.
//
// Rejected. Pinning the main G to M0: see docs/c_api.md. An end on another thread: main() would
// return on a thread that libc did not start it on.
//
// The stack has the system's guard (own_stack_overrun in crash.cc), and is never recycled.
//
// See: docs/c_api.md, docs/runtime.md
#pragma once

#include <weft/detail/source_location.h>
#include <weft/runtime.h>

namespace weft::detail {

struct G;

// Makes the caller, a plain thread, the main G of a new default runtime. Precondition:
// claim_main(). Throws resource_exhausted, std::invalid_argument or std::bad_alloc, with nothing
// changed.
void begin_on_this_stack(const runtime_options& options, source_location where);

// True if g is that G, on the thread's stack.
[[nodiscard]] bool is_on_own_stack(const G* g) noexcept;

// The reverse, called by that G; then release_main(). False: a G has not returned, and its
// scheduler is left for ever.
[[nodiscard]] bool end_on_this_stack() noexcept;

// The same, but first cancels waits until the other Gs have finished or the deadline has passed.
[[nodiscard]] bool end_on_this_stack_by(int64_t deadline_ns, stop_outcome& done) noexcept;

}  // namespace weft::detail
