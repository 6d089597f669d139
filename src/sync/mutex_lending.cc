// mutex_lending.cc: what a weft::mutex does when green threads of several classes use it. The protocol is in lending.h.
#include <weft/mutex.h>

#include "sched/lending.h"

namespace weft {

using namespace detail;

// The caller has it, and does not hold the guard. It may have been handed over, with its name.
void mutex::took() noexcept {
    const holder_handle me = handle_of_caller();
    if (me == 0) return;
    const uint32_t bits = state_.lock_bits();
    if ((bits & recorded) == 0) {
        count_held(me, 1);
        holder_.store(me, relaxed);  // relaxed: under the guard; a walk of lend() takes what it finds
        lend_for(me, bits);
    }
    state_.unlock_bits(bits | recorded);
}

void mutex::lend_for(uint32_t holder, uint32_t bits) noexcept {
    if ((bits & (high_waits | normal_waits)) == 0) return;
    lend(holder, (bits & high_waits) != 0 ? weft::priority::high : weft::priority::normal);
}

// It is going to be freed, or handed over. Requires: the guard is held, recorded was set.
void mutex::gives() noexcept {
    count_held(holder_.load(relaxed), -1);  // relaxed: under the guard
    holder_.store(0, relaxed);              // relaxed: as above
}

// The caller is about to wait. Requires: the guard is held, the mutex locked or on its way to somebody. Returns the bit that says so.
uint32_t mutex::lend_to_holder() noexcept {
    set_waits_for(&holder_);  // before the look at our class: who lends to us from now on goes on from here
    const weft::priority mine = class_of_caller();
    if (mine == weft::priority::low) return 0;
    lend(holder_.load(relaxed), mine);  // relaxed: under the guard
    return mine == weft::priority::high ? high_waits : normal_waits;
}

void mutex::waits_no_longer() noexcept { set_waits_for(nullptr); }

// w, which is claimed and about to be made ready, is given the mutex. bits: of those that still wait, if any. Returns the bit that says
// that it is known. Requires: the guard is held.
uint32_t mutex::hand_to(const waiter& w, uint32_t bits) noexcept {
    const holder_handle holder = handle_of(w.g);
    if (holder == 0) return 0;
    count_held(holder, 1);
    holder_.store(holder, relaxed);  // relaxed: under the guard
    lend_for(holder, bits);
    return recorded;
}

}  // namespace weft
