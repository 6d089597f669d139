// mutex_lending.cc: what a weft::mutex and a weft::shared_mutex do when green threads of several classes use them. The protocol is in lending.h.
//
// A shared_mutex lends to its writer only: whoever reads is merely counted. Its state word has no bits to spare. So the classes of those that
// wait are kept beside the writer's name, where a walk leaves them, too; and unlock() looks whether classes are used, instead of at a bit.
#include <weft/mutex.h>
#include <weft/shared_mutex.h>

#include "sched/lending.h"

namespace weft {

using namespace detail;

namespace {

// Writes h down, and returns what walks have left for whoever holds it next. Under the guard.
uint32_t exchange_holder(atomic<uint32_t>& holder, holder_handle h) noexcept {
    uint32_t seen = holder.load(relaxed);  // relaxed: the exchange decides
    // relaxed: walks lock the records; one that comes later finds h
    while (!holder.compare_exchange_weak(seen, (seen & passed_by::any) | h, relaxed, relaxed)) {}
    return seen & passed_by::any;
}

// Lends the highest of the classes in passed, if any, to holder.
void lend_passed(holder_handle holder, uint32_t passed) noexcept {
    if (passed == 0) return;
    lend(holder, (passed & passed_by::high) != 0 ? weft::priority::high : weft::priority::normal);
}

}  // namespace

// The caller has it, and does not hold the guard. It may have been handed over, with its name.
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

// It is going to be freed, or handed over. Requires: the guard is held, recorded was set.
void mutex::gives() noexcept {
    // relaxed: as in exchange_holder
    const uint32_t seen = waiters_.empty() ? holder_.exchange(0, relaxed) : holder_.fetch_and(passed_by::any, relaxed);
    count_held(seen & ~passed_by::any, -1);
}

// The caller is about to wait. Requires: the guard is held, the mutex locked or on its way to somebody. Returns the bit that says so.
uint32_t mutex::lend_to_holder() noexcept {
    set_waits_for(&holder_);  // before the look at our class: who lends to us from now on goes on from here
    const weft::priority mine = class_of_caller();
    if (mine == weft::priority::low) return 0;
    lend(holder_.load(relaxed) & ~passed_by::any, mine);  // relaxed: under the guard
    return mine == weft::priority::high ? high_waits : normal_waits;
}

void mutex::waits_no_longer() noexcept { set_waits_for(nullptr); }

// w, which is claimed and about to be made ready, is given the mutex. bits: of those that still wait, if any. Returns the bit that says
// that it is known. Requires: the guard is held.
uint32_t mutex::hand_to(const waiter& w, uint32_t bits) noexcept {
    const holder_handle holder = handle_of(w.g);
    if (holder == 0) return 0;
    count_held(holder, 1);
    lend_for(holder, bits, exchange_holder(holder_, holder));
    return recorded;
}

// The caller has it alone, and does not hold the guard. It may have been handed over, with its name.
void shared_mutex::took() noexcept {
    const holder_handle me = handle_of_caller();
    if (me == 0) return;
    const uint32_t bits = state_.lock_bits();
    const uint32_t seen =
        writer_.load(relaxed);  // relaxed: under the guard, but for walks, which only add to passed_by
    if ((seen & ~passed_by::any) != me) {
        count_held(me, 1);
        const uint32_t passed = exchange_holder(writer_, me);
        if ((bits & waiting) != 0) lend_passed(me, passed);
    }
    state_.unlock_bits(bits);
}

// It is going to be freed, or handed over. Requires: the guard is held.
void shared_mutex::gives() noexcept {
    const bool any_waits = !writers_.empty() || !readers_.empty();
    // relaxed: as in exchange_holder
    const uint32_t seen = any_waits ? writer_.fetch_and(passed_by::any, relaxed) : writer_.exchange(0, relaxed);
    count_held(seen & ~passed_by::any, -1);
}

// The caller is about to wait. Requires: the guard is held; bits are the lock's.
void shared_mutex::lend_to_writer(uint32_t bits) noexcept {
    set_waits_for(&writer_);  // before the look at our class, as in mutex::lend_to_holder
    const weft::priority mine = class_of_caller();
    if (mine == weft::priority::low) return;
    const uint32_t bit = mine == weft::priority::high ? passed_by::high : passed_by::normal;
    const uint32_t seen = writer_.fetch_or(bit, relaxed);  // relaxed: under the guard
    if ((bits & writer) != 0) lend(seen & ~passed_by::any, mine);
}

void shared_mutex::waits_no_longer() noexcept { set_waits_for(nullptr); }

// w, a writer that is claimed and about to be made ready, is given the lock. Requires: the guard is held.
void shared_mutex::hand_to(const waiter& w) noexcept {
    const holder_handle holder = handle_of(w.g);
    if (holder == 0) return;
    count_held(holder, 1);
    const uint32_t passed = exchange_holder(writer_, holder);
    if (!writers_.empty() || !readers_.empty()) lend_passed(holder, passed);
}

uint32_t detail::writer_of(shared_mutex& m) noexcept {
    if ((m.state_.word().load(relaxed) & shared_mutex::writer) == 0) return 0;  // relaxed: a look
    return m.writer_.load(relaxed) & ~passed_by::any;                           // relaxed: as above
}

}  // namespace weft
