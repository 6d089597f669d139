// spread.h: makes the readers of a shared_mutex spread, without the usual collisions.
#pragma once

#include <weft/shared_mutex.h>

namespace weft {

struct spread_for_test {
    // No effect while a writer holds it or waits.
    static void spread(shared_mutex& m) { m.spread_readers(); }

    [[nodiscard]] static bool is_spread(shared_mutex& m) {
        return (m.state_.word().load(std::memory_order_relaxed) & shared_mutex::spread) != 0;
    }
};

}  // namespace weft
