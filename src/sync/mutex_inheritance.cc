// mutex_inheritance.cc: the part of weft::mutex and weft::shared_mutex in inheritance.h.
//
// A shared_mutex lends only to its writer. Its state word is full, so waiters' classes are beside
// the writer's handle, where walks also leave theirs. unlock() tests whether classes are used, not
// a bit.
//
// took() is called with the lock held, without the guard; gives(), hand_to() and lend_to_…() with
// the guard.
#include <weft/mutex.h>
#include <weft/shared_mutex.h>

#include "per_g/inheritance.h"

namespace weft {

using namespace detail;

namespace {

// Stores h and returns the classes that walks left for the next holder.
uint32_t exchange_holder(atomic<uint32_t>& holder, holder_handle h) noexcept {
    uint32_t seen = holder.load(relaxed_cas);
    // relaxed: walks lock the records; a later walk finds h
    while (!holder.compare_exchange_weak(seen, (seen & passed_by::any) | h, relaxed, relaxed)) {}
    return seen & passed_by::any;
}

void lend_passed(holder_handle holder, uint32_t passed) noexcept {
    if (passed == 0) return;
    lend(holder, (passed & passed_by::high) != 0 ? weft::priority::high : weft::priority::normal);
}

}  // namespace

// A hand-over may have recorded the caller.
void mutex::took() noexcept {
    const holder_handle me = handle_of_caller();
    if (me == 0) return;
    const uint32_t bits = state_.lock_bits();
    if ((bits & recorded) == 0) {
        count_held(me, 1);
        lend_for(me, bits, exchange_holder(holder_, me));
    }
    state_.unlock_bits(bits | recorded);
}

void mutex::lend_for(uint32_t holder, uint32_t bits, uint32_t passed) noexcept {
    if ((bits & high_waits) != 0) passed |= passed_by::high;
    if ((bits & normal_waits) != 0) passed |= passed_by::normal;
    lend_passed(holder, passed);
}

// Before a free or hand-over. Requires: recorded was set.
void mutex::gives() noexcept {
    // relaxed: as in exchange_holder
    const uint32_t seen = waiters_.empty() ? holder_.exchange(0, relaxed) : holder_.fetch_and(passed_by::any, relaxed);
    count_held(seen & ~passed_by::any, -1);
}

// Before a wait. Returns the bit of the caller's class. Requires: the mutex is locked or being
// handed over.
uint32_t mutex::lend_to_holder() noexcept {
    set_waits_for(&holder_);  // before reading our class: later lenders continue from here
    const weft::priority mine = class_of_caller();
    if (mine == weft::priority::low) return 0;
    lend(holder_.load(relaxed_locked) & ~passed_by::any, mine);
    return mine == weft::priority::high ? high_waits : normal_waits;
}

void mutex::waits_no_longer() noexcept { set_waits_for(nullptr); }

// Records w, claimed and not yet ready, as the holder. bits: of the remaining waiters. Returns
// recorded, or 0 if the holder is unknown.
uint32_t mutex::hand_to(const waiter& w, uint32_t bits) noexcept {
    const holder_handle holder = handle_of(w.g);
    if (holder == 0) return 0;
    count_held(holder, 1);
    lend_for(holder, bits, exchange_holder(holder_, holder));
    return recorded;
}

void shared_mutex::took() noexcept {
    const holder_handle me = handle_of_caller();
    if (me == 0) return;
    const uint32_t bits = state_.lock_bits();
    const uint32_t seen = writer_.load(relaxed);  // relaxed: under the guard; walks only add to passed_by
    if ((seen & ~passed_by::any) != me) {
        count_held(me, 1);
        const uint32_t passed = exchange_holder(writer_, me);
        if ((bits & waiting) != 0) lend_passed(me, passed);
    }
    state_.unlock_bits(bits);
}

void shared_mutex::gives() noexcept {
    const bool any_waits = !writers_.empty() || !readers_.empty();
    // relaxed: as in exchange_holder
    const uint32_t seen = any_waits ? writer_.fetch_and(passed_by::any, relaxed) : writer_.exchange(0, relaxed);
    count_held(seen & ~passed_by::any, -1);
}

void shared_mutex::lend_to_writer(uint32_t bits) noexcept {
    set_waits_for(&writer_);  // as in mutex::lend_to_holder
    const weft::priority mine = class_of_caller();
    if (mine == weft::priority::low) return;
    const uint32_t bit = mine == weft::priority::high ? passed_by::high : passed_by::normal;
    const uint32_t seen = writer_.fetch_or(bit, relaxed_locked);
    if ((bits & writer) != 0) lend(seen & ~passed_by::any, mine);
}

void shared_mutex::waits_no_longer() noexcept { set_waits_for(nullptr); }

void shared_mutex::hand_to(const waiter& w) noexcept {
    const holder_handle holder = handle_of(w.g);
    if (holder == 0) return;
    count_held(holder, 1);
    const uint32_t passed = exchange_holder(writer_, holder);
    if (!writers_.empty() || !readers_.empty()) lend_passed(holder, passed);
}

}  // namespace weft
