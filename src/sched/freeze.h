// freeze.h: keeping green threads from running while their stacks are read.
//
// A resume stores "running" first and reads special::frozen after. So a thread that has set the
// bit, passed a heavy fence, and then sees the G parked or runnable may read its frames until it
// clears the bit. A running G is not stopped.
//
// While Gs are frozen, do not wait for anything that a resume could hold up. Only try the locks of
// objects, because an M that resumes a frozen G may hold one.
//
// Threads: any that keeps the scheduler of the Gs alive.
// See:     src/debug/dump.cc, stopping.cc
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>

#include "os/os.h"
#include "sched/g.h"

namespace weft::detail {

// One freezer at a time: the bit has no owner.
extern spin_lock freezing;

// Requires: freezing is held.
inline void freeze_locked(G* const* gs, uint32_t n) noexcept {
    for (uint32_t i = 0; i < n; ++i) gs[i]->special.fetch_or(special::frozen, acq_rel);  // the fence below counts
    // Without a heavy fence, resumes fence themselves (special::no_fence).
    if (!os::heavy_fence()) WEFT_FULL_FENCE();
}

inline void thaw(G& g) noexcept {
    g.special.fetch_and(special::all_but_frozen, release);  // pairs with switch_special
}

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
