// latch.cc: the slow paths of the latch; see weft/latch.h.
#include <weft/latch.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "wait/wake_list.h"

namespace weft {

namespace detail {

void fatal_latch_count(int64_t expected) noexcept {
    fatal("a weft::latch was constructed with a count of %lld; the count must be from 0 to %lld",
          static_cast<long long>(expected), static_cast<long long>(latch::max()));
}

}  // namespace detail

void latch::check_destroyed() noexcept {
    const uint32_t bits = state_.lock_bits();
    if (!waiters_.empty() && !detail::abandoned::may_be(true)) {
        detail::fatal("a weft::latch was destroyed while a thread waited for it; let its waiters return first");
    }
    waiters_.forget_all();
    state_.unlock_bits(bits & ~waiting);
}

uint32_t latch::lock_and_take(std::ptrdiff_t n) noexcept {
    const uint32_t bits = state_.lock_bits();  // A1
    const int64_t count = bits >> shift;
    if (n < 0 || n > count) {
        state_.unlock_bits(bits);
        detail::fatal(
            "%lld was subtracted from a weft::latch whose count was %lld; construct it with the number of arrivals",
            static_cast<long long>(n), static_cast<long long>(count));
    }
    return bits - (static_cast<uint32_t>(n) << shift);
}

// Requires: the count is zero, the lock is held.
void latch::release_waiters() noexcept {
    detail::wake_list woken;
    while (detail::waiter* w = waiters_.pop_claimed()) woken.add(*w);
    state_.unlock_bits(0);  // R1; I2
    woken.wake();
}

void latch::count_down_slow(std::ptrdiff_t n) noexcept {
    const uint32_t bits = lock_and_take(n);
    if (bits >> shift == 0) {
        release_waiters();
    } else {
        state_.unlock_bits(bits);  // R1
    }
}

void latch::arrive_and_wait(std::ptrdiff_t n) noexcept {
    const uint32_t bits = lock_and_take(n);
    if (bits >> shift == 0) {
        release_waiters();
        return;
    }
    detail::waiter me;
    detail::wait(
        state_,
        {.me = me, .queue = waiters_, .bits = bits | waiting, .reason = detail::wait_reason::latch_wait});  // R1
}

void latch::wait_slow() const noexcept {
    const uint32_t bits = state_.lock_bits();  // A1
    if (bits >> shift == 0) {
        state_.unlock_bits(bits);
        return;
    }
    detail::waiter me;
    detail::wait(state_,
                 {.me = me, .queue = waiters_, .bits = bits | waiting, .reason = detail::wait_reason::latch_wait});
}

bool latch::wait_until_ns(int64_t deadline_ns) const {
    using detail::wait_result;
    const uint32_t bits = state_.lock_bits();  // A1
    if (bits >> shift == 0) {
        state_.unlock_bits(bits);
        return true;
    }
    detail::waiter me;
    const wait_result result = detail::wait_cancellable(state_, {.me = me,
                                                                 .queue = waiters_,
                                                                 .bits = bits | waiting,
                                                                 .reason = detail::wait_reason::latch_wait,
                                                                 .deadline_ns = deadline_ns});
    if (result == wait_result::cancelled || result == wait_result::expired) detail::throw_interrupted(result);
    return result == wait_result::served;
}

}  // namespace weft
