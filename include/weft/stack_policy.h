// stack_policy.h: where green threads' stacks get their memory.
//
// See: docs/stacks.md
#pragma once

#include <cstdint>

#include <weft/detail/require.h>

namespace weft {

enum class stack_policy : uint8_t {
    automatic,  ///< RUN_STACK_POLICY, else paged
    paged,      ///< address space for the whole stack; the kernel supplies pages on first touch
    fixed,      ///< small, 64 KiB by default; counts fully as memory when mapped
    /// Commits 8 KiB, and further pages on first touch, by a signal handler. For systems that do
    /// not overcommit.
    growing,
};

}  // namespace weft
