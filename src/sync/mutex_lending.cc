// mutex_lending.cc: what a weft::mutex does when green threads of several classes use it. The protocol is in lending.h.
#include <weft/mutex.h>

#include "sched/lending.h"

namespace weft {

using namespace detail;

// T1 to T3 of lending.h. The caller has it, unless it was handed over with its holder's name.
void mutex::took() noexcept {
    const holder_handle me = handle_of_caller();
    if (me == 0 || holder_.load(relaxed) == me) return;  // relaxed: only we would write that
    count_held(me, 1);
    holder_.store(me, relaxed);                 // relaxed: T2
    WEFT_FULL_FENCE();                          // T2
    lend_for(me, state_.word().load(relaxed));  // relaxed: T2
}

void mutex::lend_for(uint32_t holder, uint32_t bits) noexcept {
    if ((bits & (high_waits | normal_waits)) == 0) return;
    lend(holder, (bits & high_waits) != 0 ? weft::priority::high : weft::priority::normal);
}

// The caller, who holds it or acts for who does, is going to free it, or to hand it over.
void mutex::gives() noexcept {
    const holder_handle holder = holder_.load(relaxed);  // relaxed: as who holds it
    if (holder == 0) return;
    holder_.store(0, relaxed);  // relaxed: freed with the word
    count_held(holder, -1);
}

// W1 to W3 of lending.h. Requires: the guard is held, the mutex locked or on its way to somebody. Returns the bits of W1.
uint32_t mutex::lend_to_holder() noexcept {
    set_waits_for(&holder_);  // before the look at our class: who lends to us from now on goes on from here
    const weft::priority mine = class_of_caller();
    if (mine == weft::priority::low) return 0;
    const uint32_t bit = mine == weft::priority::high ? high_waits : normal_waits;
    state_.word().fetch_or(bit, relaxed);  // relaxed: W2
    WEFT_FULL_FENCE();                     // W2
    lend(holder_.load(relaxed), mine);     // relaxed: W2
    return bit;
}

void mutex::waits_no_longer() noexcept { set_waits_for(nullptr); }

// w, which is claimed and about to be made ready, is given the mutex. bits: of those that still wait, if any.
void mutex::hand_to(const waiter& w, uint32_t bits) noexcept {
    const holder_handle holder = handle_of(w.g);
    if (holder == 0) return;
    count_held(holder, 1);
    holder_.store(holder, relaxed);  // relaxed: under the guard
    lend_for(holder, bits);
}

}  // namespace weft
