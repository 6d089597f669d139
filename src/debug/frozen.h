// frozen.h: green threads that are held still while their stacks are looked at.
//
// A G that is parked or runnable is held still by its special::frozen bit: it is set, a heavy fence makes it visible to every thread of
// the process, and then the G's state is looked at. A resume stores "running" first and looks at the bit after; so either the
// looker sees "running" and leaves the stack alone, or the resume sees the bit and waits until it is gone. Gs are frozen a
// batch at a time, to pay for the fence once per batch, and never while anything is written: who reads that may be one of them.
//
// Who: any thread that keeps the runtime.
#pragma once

#include <weft/detail/spin_lock.h>

#include "os/os.h"
#include "sched/g.h"

namespace weft::detail {

// Only one batch at a time: a bit says that a G is frozen, not by whom.
inline constinit spin_lock freezing;

class frozen {
public:
    frozen(G* const* gs, int count) noexcept : gs_(gs), count_(count) {
        freezing.lock();
        for (int i = 0; i < count_; ++i) gs_[i]->special.fetch_or(special::frozen, acq_rel);  // the fence below counts
        // Where there is no heavy fence, resumes fence themselves (special::no_fence).
        if (!os::heavy_fence()) WEFT_FULL_FENCE();
    }

    ~frozen() {
        for (int i = 0; i < count_; ++i) thaw(i);
        freezing.unlock();
    }

    frozen(const frozen&) = delete;
    frozen& operator=(const frozen&) = delete;

private:
    void thaw(int i) noexcept {
        gs_[i]->special.fetch_and(special::all_but_frozen, release);  // pairs with switch_special
    }

    G* const* gs_;
    int count_;
};

}  // namespace weft::detail
