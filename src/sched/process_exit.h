// process_exit.h: tells whether a green thread has called exit().
//
// exit() runs destructors of static objects on its caller. If that is a green thread, the
// destructor of its own runtime cannot stop it: it would wait for itself. Elsewhere that is a
// mistake, but not during exit().
//
// exit() first destroys its caller's thread_local objects. Each M's thread has one; if it is
// destroyed while the thread is an M, exit() was called there. (A thread that ends is no longer an
// M.)
//
// Registering its destructor takes memory, and glibc aborts without it. So an M first checks that
// memory is available, and else does without: exit() there counts as a mistake. Another thread may
// take the last memory in between.
//
// Rejected. POSIX thread keys need no memory, but exit() skips their destructors. An atexit handler
// runs after destructors of later objects: each runtime would need one. Searching the stack for
// exit(): it has no name if linked statically.
//
// Threads: watch_for_exit: each that becomes an M; exit_has_begun: any.
// See:     docs/runtime.md
#pragma once

namespace weft::detail {

// Call before the thread becomes an M. No effect without memory.
void watch_for_exit() noexcept;

// True if a G has called exit().
[[nodiscard]] bool exit_has_begun() noexcept;

}  // namespace weft::detail
