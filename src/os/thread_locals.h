// thread_locals.h: where the thread-locals of the calling thread are, for ThreadSanitizer
// (docs/sanitizers.md).
#pragma once

#include <cstddef>

namespace weft::detail::os {

// Calls use(begin, size) for the block of each module that has one on this thread, and for its
// alternate signal stack.
void visit_thread_locals(void (*use)(const void* begin, std::size_t size) noexcept) noexcept;

}  // namespace weft::detail::os
