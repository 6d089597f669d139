// fork.h: the child of fork(): one thread, in a stopped world.
//
// Only the thread that called fork() exists in the child. Ms, the monitor and lock holders are
// gone; Gs, queues and schedulers stay in memory, in any state. Waiting for them hangs.
//
// The child may exec, _exit, exit, call plain code, and start a runtime of its own: a
// weft::runtime, weft::main, or the default one by first use. If a G forked, the child is a plain
// thread on that G's stack and runs on there, but the G cannot return, because it has no M.
//
// Each scheduler knows its generation: which process in a line of forks made it. The handler in the
// child:
//
//   F1  increments the generation: existing schedulers become old ones
//   F2  makes the caller a plain thread
//   F3  forgets the default runtime and that weft::main runs; unlocks the few global locks, whose
//       holders may be gone. The guarded data is consistent at every moment, or forgotten, too
//   F4  declares all Gs abandoned: objects with waiting Gs may be destroyed
//   F5  restores the program's signal mask, if the thread was an M; registers heavy fences with the
//       kernel
//
// Nothing happens before the fork, and no lock is taken: a fork never waits for a scheduler.
//
// Slow paths detect these and end the process with a message instead of a hang: Gs started or made
// ready on an old scheduler; use of the parent's runtime object (stop, restart and destruction only
// forget it); a wait in a queue with a waiter of the old world; a wait without a deadline while no
// other thread exists; an object's lock that is never released. Not detected: a wait of the child's
// Gs for a mutex whose holder is gone.
//
// Rejected. Taking all locks before the fork: an object's locks cannot be found, and fork would
// wait for each runtime. MADV_DONTFORK or WIPEONFORK for stacks: a forking G stands on one.
// Continuing with one M in the child: what the other Ms did and held is lost.
//
// Threads: reads: any; the rest: the C library in the child.
// See:     docs/fork.md
#pragma once

#include <cstdint>

#include "base/atomic.h"

namespace weft::detail {

struct scheduler;

// 0 in a process that no process with runtimes has forked.
extern atomic<uint32_t> fork_generation;

// True if a parent process made s.
[[nodiscard]] bool is_from_before_fork(const scheduler& s) noexcept;

// Registers the handler, once per process. The C library keeps its address, so the module stays
// loaded from here on.
void install_fork_handler() noexcept;

// The fatal error of a G that has forked and returns.
inline constexpr const char* returned_in_child =
    "a green thread that has called fork() returned in the child; end it with exec, _exit or exit; see docs/fork.md";

// For use of what a parent has left behind.
[[noreturn, gnu::cold]] void fatal_in_child(const char* what) noexcept;

// Called by the handler: F3.
void forget_default_runtime() noexcept;
void forget_adopted_thread() noexcept;
void free_registry_lock() noexcept;
void free_locals_lock() noexcept;
void free_lending_lock() noexcept;

}  // namespace weft::detail
