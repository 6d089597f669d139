// component_threads.h: the threads of components, which wake no green thread. So they do not keep a
// deadlock from being found.
//
// Threads: any.
#pragma once

namespace weft::detail {

// Adds or removes the calling thread. The first 128 that exist at a time are known.
void add_component_thread(int tid) noexcept;
void remove_component_thread(int tid) noexcept;

[[nodiscard]] bool is_component_thread(int tid) noexcept;

}  // namespace weft::detail
