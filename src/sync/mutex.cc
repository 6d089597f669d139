// mutex.cc: the contended half of weft::mutex. The contract is in weft/mutex.h.
//
// The word's bits and the queue change together under the word's own lock bit, and every change ends in one store, after
// which the mutex is not touched: whoever takes it then may destroy it.
//
//   unlock, normal:    clear locked; if nobody is on its way (woken), take the oldest waiter out, set woken, wake it. It has to compete.
//   unlock, starving:  leave locked set and give the mutex to the oldest waiter; clear starving with the last one.
//   waiter, woken:     lost the race: back to the head of the queue; waited more than 1 ms: set starving first.
//   waiter, given it:  waited less than 1 ms: clear starving.
#include <weft/mutex.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "os/os.h"

namespace weft {

namespace {

constexpr int64_t starving_after_ns = 1'000'000;

}  // namespace

mutex::~mutex() {
    // relaxed: whoever destroys it has synchronised with its users
    if (state_.word().load(detail::relaxed) == 0) return;
    const uint32_t bits = state_.lock_bits();
    if (!detail::abandoned::may_be(!waiters_.empty())) {
        detail::fatal("a weft::mutex was destroyed while it was locked or waited for");
    }
    waiters_.forget_all();
    state_.unlock_bits(bits);
}

void mutex::lock_slow() noexcept {
    using namespace detail;
    int64_t waiting_since_ns = 0;
    bool was_woken = false;
    for (;;) {
        uint32_t bits = state_.lock_bits();
        if (was_woken) bits &= ~woken;
        if ((bits & (locked | starving)) == 0) {
            state_.unlock_bits(bits | locked);
            return;
        }
        const int64_t now = os::monotonic_ns();
        if (waiting_since_ns == 0) waiting_since_ns = now;
        if (was_woken && now - waiting_since_ns > starving_after_ns) bits |= starving;

        waiter me;
        me.slot = this;
        if (was_woken) {
            wait_first(me, waiters_, state_, bits | waiting, wait_reason::mutex_lock);
        } else {
            wait(me, waiters_, state_, bits | waiting, wait_reason::mutex_lock);
        }
        if (me.ok) {
            // Handed over: it is ours already.
            if (os::monotonic_ns() - waiting_since_ns < starving_after_ns) {
                bits = state_.lock_bits();
                state_.unlock_bits(bits & ~starving);
            }
            return;
        }
        was_woken = true;
    }
}

void mutex::unlock_slow() noexcept {
    using namespace detail;
    uint32_t bits = state_.lock_bits();
    if ((bits & locked) == 0) {
        state_.unlock_bits(bits);
        fatal("unlock of an unlocked weft::mutex");
    }
    if ((bits & waiting) == 0 || ((bits & woken) != 0 && (bits & starving) == 0)) {
        state_.unlock_bits(bits & ~locked);
        return;
    }
    waiter* w = waiters_.pop_claimed();
    if (w == nullptr) {
        // The waiters belonged to a runtime that was stopped.
        state_.unlock_bits(0);
        return;
    }
    if (waiters_.empty()) bits &= ~waiting;
    if ((bits & starving) != 0) {
        if ((bits & waiting) == 0) bits &= ~starving;
        w->ok = true;
    } else {
        bits = (bits & ~locked) | woken;
    }
    state_.unlock_bits(bits);  // not a word of the mutex after here
    ready(*w);
}

namespace detail {

void mutex_wait_abandoned(waiter& w) noexcept {
    mutex& m = *static_cast<mutex*>(w.slot);
    if (w.ok) {
        m.unlock();  // it was given the mutex, and never knew
        return;
    }
    uint32_t bits = m.state_.lock_bits() & ~mutex::woken;
    waiter* next = nullptr;
    if ((bits & mutex::locked) == 0 && (bits & mutex::waiting) != 0) {
        next = m.waiters_.pop_claimed();
        if (m.waiters_.empty()) bits &= ~mutex::waiting;
        if (next != nullptr) bits |= mutex::woken;
    }
    m.state_.unlock_bits(bits);
    if (next != nullptr) ready(*next);
}

}  // namespace detail

}  // namespace weft
