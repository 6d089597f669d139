// stack_bounds_linux.h: where the calling thread's stack is, from the kernel's map of the process.
//
// For systems that refuse sched_getaffinity: pthread_getattr_np of the C library then fails,
// although it needs the answer only for the thread's CPUs. Rejected: always this way, because the
// map of a large process has many thousand lines.
//
// A mapping may have more than the stack: what the C library keeps for the thread, and whatever is
// next to a stack that has no guard, or that the program has made. Then the bounds are too wide.
//
// Threads: any thread.
#pragma once

#include <cstddef>

namespace weft::detail::os {

// False: the map cannot be read, or lacks the stack; low and size are then unchanged.
[[nodiscard]] bool stack_bounds_by_map(const void*& low, std::size_t& size) noexcept;

}  // namespace weft::detail::os
