// inheritance.h: priority inheritance of mutexes. See src/per_g/inheritance.h.
#pragma once

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>

namespace weft::detail {

// Set by the first green thread of a class other than normal, and never cleared.
extern atomic<bool> classes_used;

[[nodiscard]] inline bool classes_in_use() noexcept {
    if constexpr (model_build) {
        return false;
    } else {
        return classes_used.load(relaxed);  // relaxed: a mutex that was locked earlier counts as one without a holder
    }
}

}  // namespace weft::detail
