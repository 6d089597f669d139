// process_exit.h: tells whether a green thread has called exit().
//
// exit() runs destructors of static objects on its caller. A green thread that destroys its own
// runtime would wait for itself: a mistake, except in exit().
//
// exit() first destroys the caller's thread_local objects. Each M's thread has one, which records
// an exit() if it is destroyed while the thread is an M. (A thread that ends is not.)
//
// Registering the destructor takes memory, without which glibc aborts. So an M first checks for
// memory, or does without: exit() there counts as a mistake. Another thread may take the last
// memory in between.
//
// Rejected. POSIX thread keys: exit() skips their destructors. An atexit handler: it runs after the
// destructors of later objects. exit() on the stack: it has no name where it is linked statically.
//
// Threads: watch_for_exit: each thread that becomes an M; exit_has_begun: any thread.
// See:     docs/runtime.md
#pragma once

namespace weft::detail {

// Call before the thread becomes an M. No effect without memory.
void watch_for_exit() noexcept;

[[nodiscard]] bool exit_has_begun() noexcept;

}  // namespace weft::detail
