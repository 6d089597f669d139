// ranked_lock.cc: see ranked_lock.h.
#include "base/ranked_lock.h"

#include "base/assert.h"

namespace weft::detail {

#if defined(WEFT_DEBUG_CHECKS)

namespace {

thread_local constinit uint32_t held = 0;  // a bit for each rank

constexpr uint32_t bit(lock_rank rank) noexcept { return 1U << static_cast<unsigned>(rank); }

}  // namespace

[[gnu::noinline]] void note_ranked_lock(lock_rank rank) noexcept {
    if (held >= bit(rank)) {
        const uint32_t before = held;
        held = 0;  // the report takes locks
        fatal("a lock of rank %u is taken while the ranks in %#x are held: see base/ranked_lock.h",
              static_cast<unsigned>(rank), before);
    }
    held |= bit(rank);
}

[[gnu::noinline]] void note_ranked_unlock(lock_rank rank) noexcept { held &= ~bit(rank); }

#endif

}  // namespace weft::detail
