// fork.h: the child of fork(): one thread, in a stopped world.
//
// Ms, the monitor and lock holders are gone; Gs, queues and schedulers stay in memory, in any
// state. Waiting for them hangs. The handler in the child:
//
//   F1  increments the generation (base/generation.h): existing schedulers become old
//   F2  makes the caller a plain thread
//   F3  forgets the default runtime and weft::main; unlocks the few global locks, whose holders may
//       be gone. Their data is always consistent, or forgotten, too
//   F4  declares all Gs abandoned: objects with waiting Gs may be destroyed
//   F5  restores the program's signal mask, if the thread was an M; registers heavy fences with the
//       kernel
//
// Nothing is done or locked before the fork: it never waits for a scheduler.
//
// Threads: install_fork_handler: any thread; the rest: the C library in the child.
// See:     docs/fork.md
#pragma once

namespace weft::detail {

// Registers the handler, once per process. libc keeps its address, so the module stays loaded.
void install_fork_handler() noexcept;

// Called by the handler: F3.
void forget_default_runtime() noexcept;
void forget_adopted_thread() noexcept;
void free_registry_lock() noexcept;

}  // namespace weft::detail
