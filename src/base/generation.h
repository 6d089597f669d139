// generation.h: which process in a line of forks this is.
//
// In the child of fork(), waiting for what the parent has made hangs. So slow paths compare
// generations, and end the process with a message: is_from_before_fork() of sched/scheduler.h.
//
// Threads: any thread; only the handler of fork() writes (lifecycle/fork.h).
// See:     docs/fork.md
#pragma once

#include <cstdint>

#include "base/atomic.h"

namespace weft::detail {

// 0 unless a process with runtimes forked this one.
extern atomic<uint32_t> fork_generation;

inline constexpr const char* returned_in_child =
    "a green thread that has called fork() returned in the child; end it with exec, _exit or exit; see docs/fork.md";

// Reports the use of what a parent has left behind.
[[noreturn, gnu::cold]] void fatal_in_child(const char* what) noexcept;

}  // namespace weft::detail
