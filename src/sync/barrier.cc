// barrier.cc: arriving and waiting; see weft/barrier.h.
#include <weft/barrier.h>
#include <weft/detail/step.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "wait/wake_list.h"

namespace weft::detail {

void fatal_barrier_count(int64_t expected) noexcept {
    fatal("a weft::barrier was constructed for %lld arrivals; the number must be from 0 to %lld",
          static_cast<long long>(expected), static_cast<long long>(barrier_core::max_count));
}

void barrier_core::check_destroyed() noexcept {
    const uint32_t bits = state_.lock_bits();
    if (!waiters_.empty() && !abandoned::may_be(true)) {
        fatal("a weft::barrier was destroyed while a thread waited for it; let its waiters return first");
    }
    waiters_.forget_all();
    state_.unlock_bits(bits & ~waiting);
}

bool barrier_core::take_locked(std::ptrdiff_t n, uint32_t bits) noexcept {
    const std::ptrdiff_t missing = missing_;
    if (n < 1 || n > missing) {
        state_.unlock_bits(bits);
        fatal(
            "%lld arrived at a weft::barrier that expected %lld more in this phase; construct it with the number of "
            "arrivals",
            static_cast<long long>(n), static_cast<long long>(missing));
    }
    missing_ = missing - n;
    return n == missing;
}

barrier_core::arrived barrier_core::arrive(std::ptrdiff_t n) noexcept {
    step(operation::barrier, this);
    const uint32_t bits = state_.lock_bits();
    const bool last = take_locked(n, bits);
    state_.unlock_bits(bits);
    return {bits >> shift, last};
}

bool barrier_core::arrive_and_wait() noexcept {
    step(operation::barrier, this);
    const uint32_t bits = state_.lock_bits();
    if (take_locked(1, bits)) {
        state_.unlock_bits(bits);
        return true;
    }
    waiter me;
    weft::detail::wait(state_,
                       {.me = me, .queue = waiters_, .bits = bits | waiting, .reason = wait_reason::barrier_wait});
    return false;
}

barrier_core::arrived barrier_core::arrive_and_drop() noexcept {
    step(operation::barrier, this);
    const uint32_t bits = state_.lock_bits();
    const bool last = take_locked(1, bits);
    expected_ = expected_ - 1;
    state_.unlock_bits(bits);
    return {bits >> shift, last};
}

void barrier_core::complete() noexcept {
    const uint32_t bits = state_.lock_bits();
    missing_ = expected_;
    wake_list woken;
    while (waiter* w = waiters_.pop_claimed()) woken.add(*w);
    state_.unlock_bits((bits & ~waiting) + one);  // R1; the last access
    woken.wake();
}

void barrier_core::wait_slow(uint32_t phase) noexcept {
    const uint32_t bits = state_.lock_bits();  // A1
    if (bits >> shift != phase) {
        state_.unlock_bits(bits);
        return;
    }
    waiter me;
    weft::detail::wait(state_,
                       {.me = me, .queue = waiters_, .bits = bits | waiting, .reason = wait_reason::barrier_wait});
}

}  // namespace weft::detail
