// watched_bits.cc: see watched_bits.h.
#include "sched/watched_bits.h"

#include "sched/freeze.h"
#include "sched/scheduler.h"

namespace weft::detail {

void set_watched_bit(scheduler& s, uint16_t bit, bool on) noexcept {
    const auto others = static_cast<uint16_t>(~bit);
    if (on) {
        s.g_flags.fetch_or(bit, relaxed);  // relaxed: fill_in may see it late
    } else {
        s.g_flags.fetch_and(others, relaxed);  // relaxed: as above
    }
    freezing.lock();  // pages of dead Gs are not discarded meanwhile
    s.gs.for_each([&](G& g) {
        // A switch may see it late.
        if (on) {
            g.special.fetch_or(bit, release);  // pairs with start_with in spawn.cc
        } else {
            g.special.fetch_and(others, relaxed);  // relaxed: see above
        }
    });
    freezing.unlock();
}

}  // namespace weft::detail
