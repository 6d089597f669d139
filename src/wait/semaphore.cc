// semaphore.cc: the slow paths of semaphores. The contract is in weft/detail/semaphore_core.h.
#include <weft/detail/semaphore_core.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "wait/semaphore_waiter.h"
#include "wait/wake_list.h"

namespace weft::detail {

namespace {

void give_back(const semaphore_waiter& w) noexcept {
    if (w.ok) static_cast<semaphore_core*>(static_cast<void*>(w.slot))->give(1, semaphore_core::max_count);
}

}  // namespace

void fatal_semaphore_count(int64_t count, int64_t max) noexcept {
    fatal("a weft::counting_semaphore was constructed with %lld units; the number must be from 0 to %lld",
          static_cast<long long>(count), static_cast<long long>(max));
}

void semaphore_core::check_destroyed() noexcept {
    const uint32_t bits = state_.lock_bits();
    if (!waiters_.empty() && !abandoned::may_be(true)) {
        fatal("a weft::counting_semaphore was destroyed while a thread waited for it; let its waiters return first");
    }
    waiters_.forget_all();
    state_.unlock_bits(bits & ~waiting);
}

bool semaphore_core::try_take_guarded() noexcept {
    const uint32_t bits = state_.lock_bits();
    const bool any = bits >= one;
    state_.unlock_bits(any ? bits - one : bits);
    return any;
}

bool semaphore_core::take(int64_t deadline_ns) {
    const uint32_t bits = state_.lock_bits();  // A1
    if (bits >= one) {
        state_.unlock_bits(bits - one);
        return true;
    }
    semaphore_waiter me(this, give_back);
    const wait_result result = wait_cancellable(state_, {.me = me,
                                                         .queue = waiters_,
                                                         .bits = bits | waiting,
                                                         .reason = wait_reason::semaphore_acquire,
                                                         .deadline_ns = deadline_ns});
    if (result == wait_result::cancelled || result == wait_result::expired) throw_interrupted(result);
    return result == wait_result::served;
}

void semaphore_core::give_slow(int64_t n, int64_t max) noexcept {
    const uint32_t bits = state_.lock_bits();
    const int64_t count = bits >> shift;
    if (n < 0 || n > max - count) {
        state_.unlock_bits(bits);
        fatal(
            "release(%lld) of a weft::counting_semaphore that holds %lld of %lld units; pair each release with an "
            "acquire",
            static_cast<long long>(n), static_cast<long long>(count), static_cast<long long>(max));
    }
    wake_list woken;
    int64_t left = n;
    for (; left != 0; --left) {
        waiter* w = waiters_.pop_claimed();
        if (w == nullptr) break;
        w->ok = true;  // it owns the unit
        woken.add(*w);
    }
    const uint32_t still = waiters_.empty() ? 0 : waiting;
    // R1; I3
    state_.unlock_bits(static_cast<uint32_t>(count + left) << shift | still);
    woken.wake();
}

void semaphore_wait_abandoned(waiter& w) noexcept {
    const auto& mine = static_cast<const semaphore_waiter&>(w);
    mine.leave(mine);
}

}  // namespace weft::detail
