// process_exit.h: whether a green thread has called exit().
//
// The problem. exit() runs the destructors of static objects on whoever called it. If that is a green thread, and one of the objects its
// own runtime, the destructor cannot stop that: it would wait for itself. Nor is it a mistake then, as it is in the middle of a program. So
// a destructor has to know that exit() runs.
//
// exit() first destroys what is thread_local in its caller. So each M's thread has such an object; destroyed while the thread is still
// an M, it says that exit() was called there. (When an M ends, it is none any more.)
//
// To note such an object down takes memory, and glibc aborts the process if it gets none. So an M looks first whether there is some, and
// goes without if not: then exit() there is taken for a mistake. Between the look and the note another thread may take the last of it.
//
// Rejected. A key of POSIX threads, which needs no memory (exit() does not run its destructors). A handler of atexit (runs after the
// destructors of what was made later: each runtime would need one of its own). Looking for exit() on the stack (it has no name where it is
// linked statically).
//
// Who: watch_for_exit: each thread that becomes an M; exit_has_begun: any thread.
// See: docs/runtime.md
#pragma once

namespace weft::detail {

// The calling thread is about to become an M. Nothing happens if there is no memory.
void watch_for_exit() noexcept;

// Whether a G has called exit().
[[nodiscard]] bool exit_has_begun() noexcept;

}  // namespace weft::detail
