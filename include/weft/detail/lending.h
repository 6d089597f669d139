// lending.h: what a mutex does for those who wait for it in a higher class than its holder's: see src/sched/lending.h.
#pragma once

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>

namespace weft::detail {

// Set by the first green thread of another class than the normal one, and never cleared.
extern atomic<bool> classes_used;

[[nodiscard]] inline bool classes_in_use() noexcept {
    if constexpr (model_build) {
        return false;
    } else {
        return classes_used.load(relaxed);  // relaxed: a mutex that was locked before counts as one without a holder
    }
}

}  // namespace weft::detail
