// fork.h: the child of fork(): one thread, in a stopped world.
//
// Only the thread that called fork() exists there. Ms, the monitor and lock holders are gone; Gs,
// queues and schedulers stay in memory, in any state. Waiting for them hangs.
//
// The child may exec, _exit, exit, run plain code, and start its own weft::runtime, weft::main, or
// the default runtime by use. If a G forked, the child continues as a plain thread on the G's
// stack; the G cannot return, for lack of an M.
//
// A scheduler's generation tells which process in a line of forks made it (base/generation.h).
// The handler in the child:
//
//   F1  increments the generation: existing schedulers become old
//   F2  makes the caller a plain thread
//   F3  forgets the default runtime and weft::main; unlocks the few global locks, whose holders may
//       be gone. Their data is always consistent, or forgotten, too
//   F4  declares all Gs abandoned: objects with waiting Gs may be destroyed
//   F5  restores the program's signal mask, if the thread was an M; registers heavy fences with the
//       kernel
//
// Nothing is done or locked before the fork: it never waits for a scheduler.
//
// Slow paths end the process with a message, instead of a hang, when they detect one of these:
//
// - Gs are started or made ready on an old scheduler.
// - The parent's runtime object is used. (Stop, restart and destruction only forget it.)
// - A wait begins in a queue with a waiter of the old world, or without a deadline while no other
//   thread exists.
// - An object's lock is never released.
//
// Not detected: the child's Gs wait for a mutex whose holder is gone.
//
// Threads: reads: any thread; the rest: the C library in the child.
// See:     docs/fork.md
#pragma once

namespace weft::detail {

// Registers the handler, once per process. libc keeps its address, so the module stays loaded from
// then on.
void install_fork_handler() noexcept;

// Called by the handler: F3.
void forget_default_runtime() noexcept;
void forget_adopted_thread() noexcept;
void free_registry_lock() noexcept;

}  // namespace weft::detail
