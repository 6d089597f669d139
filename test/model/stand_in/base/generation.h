// generation.h: models do not fork.
#pragma once

#include <cstdint>

#include "base/assert.h"

namespace weft::detail {

inline struct {
    template <typename... Order>
    static uint32_t load(Order... /*order*/) {
        return 0;
    }
} fork_generation;

[[noreturn]] inline void fatal_in_child(const char* what) noexcept { fatal("%s", what); }

}  // namespace weft::detail
