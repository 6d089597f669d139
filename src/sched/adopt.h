// adopt.h: a thread that goes on as the main green thread, on the stack it has.
//
// The problem. weft::main calls a function as the main G, on a stack of its own; the thread's stack is the g0 of M0. A C program has no
// function to hand over: it calls run_scheduler_init(), and what follows is the main G; it calls run_scheduler_stop(), and what
// follows is a plain thread again. So here the two stacks change places: the thread's own stack is the main G's, and M0's g0 runs
// on one from the pool.
//
// Begin:  1  make scheduler, M0, the main G, and a stack for g0
//         2  the thread becomes M0; its own stack gets a record, as stacks in slabs have at their top
//         3  the main G switches to g0, as any G that leaves: its context is saved
//         4  g0 queues the main G on P 0 and enters the loop in which every g0 lives, which runs it: begin returns
//
// In between the main G is a G like any other. It parks, it is stolen, it runs on whatever M: then that M's thread works on the first
// thread's stack, which to the processor, the kernel and the unwinder is memory like any other.
//
// End:    1  the main G locks leaving, and asks all Ms to stop: no G is scheduled from here on
//         2  it leaves for the g0 of the M it is on; whoever runs there unlocks leaving, once its context is saved
//         3  M0's loop ends, because the scheduler stops; on the way out its g0 takes leaving, and so waits for step 2
//         4  M0 leaves g0's stack for good and goes on in the main G: which is back on the thread it began on
//         5  the thread stops being an M; then as at the end of weft::main
//
// Step 3 comes when M0's G, if it runs another one than the main G, reaches a scheduling point; one that never does holds it up, as
// it does runtime::stop().
//
// Rejected. Pinning the main G to M0: each of its parks would be a futex sleep, 100 times the price; who wants it pins it. Handing it
// over to M0 in end by a queue of its own: M0 leaves its loop anyway, and nobody else may take it meanwhile. Ending on the thread
// on which it happens to run: the C program's main() would return on a thread that its C library did not start it on.
//
// What knows that this stack is in no slab: stack::high (for dumps), and the overflow report. The stack has the guard that the system gave it, so
// an overflow is an access just below its bounds, or one within them where the system could not let it grow (crash.cc). It is never
// recycled, since its G ends here and nowhere else; the sanitizers know it as the thread's own.
//
// See: docs/c_api.md, docs/runtime.md
#pragma once

#include <weft/detail/source_location.h>
#include <weft/runtime.h>

namespace weft::detail {

struct G;

// Makes the caller, a plain thread, the main G of a new default runtime. Requires: claim_main(). Throws resource_exhausted,
// std::invalid_argument or std::bad_alloc, having changed nothing.
void begin_on_this_stack(const runtime_options& options, source_location where);

// Whether the caller is that G.
[[nodiscard]] bool is_on_own_stack(const G* g) noexcept;

// The reverse. Requires: the caller is that G. False: another G never came back, and its scheduler stays for ever. The caller is to
// release_main().
[[nodiscard]] bool end_on_this_stack() noexcept;

// The same with a deadline, as runtime::stop: cancels the others' waits, and waits until they have finished, before.
[[nodiscard]] bool end_on_this_stack_by(int64_t deadline_ns, stop_outcome& done) noexcept;

}  // namespace weft::detail
