// component_threads.h: the threads and runtimes of components, which wake no green thread of the
// program. So they do not keep a deadlock from being found.
//
// A runtime of a component may wait for connections, and compute. The search for deadlocks reads
// neither its queues nor its green threads, and reports none of them; its Ms are known as those of
// any runtime.
//
// Threads: any.
#pragma once

namespace weft::detail {

// Adds or removes the calling thread. The first 128 that exist at a time are known.
void add_component_thread(int tid) noexcept;
void remove_component_thread(int tid) noexcept;

[[nodiscard]] bool is_component_thread(int tid) noexcept;

// Adds or removes a scheduler. The first 32 that exist at a time are known. A scheduler must be
// removed before it is destroyed.
void add_component_runtime(const void* scheduler) noexcept;
void remove_component_runtime(const void* scheduler) noexcept;

[[nodiscard]] bool is_component_runtime(const void* scheduler) noexcept;

}  // namespace weft::detail
