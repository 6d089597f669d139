// fork.h: what is left after fork(): one thread, and a world that stands still.
//
// The problem. In the child of fork() only the thread that called it exists. Ms, the monitor, and whoever held a lock are gone; Gs, queues
// and schedulers are still in memory, as they happened to be. Nothing there will ever move again; who waits for it hangs.
//
// What the child may do: exec, _exit, exit; call plain code; start a runtime of its own, weft::main, or the default one by first use. If a G
// forked, the child is a plain thread on that G's stack: it goes on there, but the G cannot return (there is no M to return to).
//
// How: each scheduler knows in which process of a line of forks it was made (generation). The handler that runs in the child
//
//   F1  counts the generation up: all schedulers there are become old ones
//   F2  makes the caller a plain thread
//   F3  forgets the default runtime and that weft::main runs; frees our few global locks, whose holders may be gone. What they guard is
//       consistent at every moment, or forgotten with them
//   F4  declares all Gs abandoned: objects may be destroyed though Gs wait on them
//   F5  gives the thread the program's signal mask, if it was an M; tells the kernel that we fence heavily
//
// Nothing is done before the fork, and no lock is taken: a fork never waits for a scheduler.
//
// What is found out, in slow paths, and ends the process with a message instead of a hang: Gs are started on an old scheduler, or made
// ready; a runtime object of the parent is used (but stopped, restarted or destroyed: it is only forgotten); a wait in a queue in which
// somebody from the old world waits; a wait without a deadline while there is no other thread; a lock of an object that nobody frees.
// Not found out: a wait of the child's own Gs for a mutex whose holder did not come along.
//
// Rejected. Taking all locks before the fork and freeing them after (an object's locks cannot be found; fork would wait for each runtime).
// MADV_DONTFORK or WIPEONFORK for stacks (a G that forks stands on one). Going on with one M in the child (what the other Ms were
// doing, and held, is lost).
//
// Who: reading, anybody; the rest, the C library in the child.
// See: docs/fork.md
#pragma once

#include <cstdint>

#include "base/atomic.h"

namespace weft::detail {

struct scheduler;

// 0 in a process that did not come out of a fork of one with runtimes.
extern atomic<uint32_t> fork_generation;

// Whether s was made by a parent.
[[nodiscard]] bool is_from_before_fork(const scheduler& s) noexcept;

// Registers the handler, once per process. It is the first address of our code that others keep: from now on the module stays loaded.
void install_fork_handler() noexcept;

// What is fatal for a G that has forked.
inline constexpr const char* returned_in_child =
    "a green thread that has called fork() returned in the child; end it with exec, _exit or exit; see docs/fork.md";

// Who uses what a parent has left behind.
[[noreturn, gnu::cold]] void fatal_in_child(const char* what) noexcept;

// What the handler calls in other files: F3.
void forget_default_runtime() noexcept;
void forget_adopted_thread() noexcept;
void free_registry_lock() noexcept;
void free_locals_lock() noexcept;
void free_lending_lock() noexcept;

}  // namespace weft::detail
