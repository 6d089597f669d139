// stack_policy.h: where the memory of green threads' stacks comes from.
//
// See: docs/stacks.md
#pragma once

#include <cstdint>

#include <weft/detail/require.h>

namespace weft {

enum class stack_policy : uint8_t {
    automatic,  // RUN_STACK_POLICY, else paged
    paged,      // address space for the whole stack; the kernel supplies pages when they are touched
    fixed,      // small, 64 KiB unless said otherwise, and counted as memory in full as soon as it is mapped
    growing,  // 8 KiB are committed, further pages when they are touched, by a signal handler; for systems that do not overcommit
};

}  // namespace weft
