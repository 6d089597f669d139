// generation.h: models do not fork.
#pragma once

#include <cstdint>

namespace weft::detail {

struct scheduler;

inline struct {
    template <typename... Order>
    static uint32_t load(Order... /*order*/) {
        return 0;
    }
} fork_generation;

inline bool is_from_before_fork(const scheduler& /*s*/) noexcept { return false; }

[[noreturn]] inline void fatal_in_child(const char* what) noexcept { fatal("%s", what); }

}  // namespace weft::detail
