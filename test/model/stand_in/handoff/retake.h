// retake.h: in models no M loses its P.
#pragma once

#include "sched/switch.h"

namespace weft::detail {

[[nodiscard]] inline M* switch_away_without_p(M* m) noexcept {
    WEFT_ASSERT(false);
    return m;
}

}  // namespace weft::detail
