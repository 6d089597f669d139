// freeze.h: holding green threads still while their stacks are read.
//
// A G that is parked or runnable is held still by special::frozen and a heavy fence: a resume stores "running" first and looks at the bit
// after. So whoever has set the bit, fenced, and then sees the G waiting may read its frame: it does not go on before the bit is gone. One
// that runs is not stopped.
//
// While Gs are frozen: nothing is waited for that a resume could hold up. An M that resumes a frozen G may hold the lock of the object on
// which the G before it parks; so locks of objects are only tried.
//
// Who: any thread that keeps the scheduler of the Gs alive. See: src/debug/dump.cc, stopping.cc
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>

#include "os/os.h"
#include "sched/g.h"

namespace weft::detail {

// The bit says that a G is frozen, not by whom: one at a time.
extern spin_lock freezing;

// Freezes n Gs. freezing is held.
inline void freeze_locked(G* const* gs, uint32_t n) noexcept {
    for (uint32_t i = 0; i < n; ++i) gs[i]->special.fetch_or(special::frozen, acq_rel);  // the fence below counts
    // Where there is no heavy fence, resumes fence themselves (special::no_fence).
    if (!os::heavy_fence()) WEFT_FULL_FENCE();
}

inline void thaw(G& g) noexcept {
    g.special.fetch_and(special::all_but_frozen, release);  // pairs with switch_special
}

// n Gs that stay frozen while this lives.
class frozen {
public:
    frozen(G* const* gs, uint32_t n) noexcept : gs_(gs), n_(n) {
        freezing.lock();
        freeze_locked(gs_, n_);
    }

    ~frozen() {
        for (uint32_t i = 0; i < n_; ++i) thaw(*gs_[i]);
        freezing.unlock();
    }

    frozen(const frozen&) = delete;
    frozen& operator=(const frozen&) = delete;

private:
    G* const* gs_;
    uint32_t n_;
};

}  // namespace weft::detail
