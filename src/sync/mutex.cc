// mutex.cc: the contended half of weft::mutex; see weft/mutex.h.
//
// Each change ends in one store, after which the mutex is not accessed: the next holder may destroy
// it.
//
//   unlock, normal:    Clears locked. Unless woken is set: unlinks the oldest waiter, sets woken
//                      and wakes it, to compete.
//   unlock, starving:  Hands the mutex, still locked, to the oldest waiter. Clears starving with
//                      the last.
//   waiter, woken:     Takes a free mutex, even after its deadline. Otherwise clears woken, so the
//                      next unlock wakes a waiter, and rejoins at the queue's head; after more than
//                      1 ms it sets starving.
//   waiter, served:    After less than 1 ms: clears starving.
//   waiter, timed out: If last: clears waiting and starving.
#include <weft/mutex.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "os/os.h"
#include "sched/simulation.h"
#include "sync/starving.h"

namespace weft {

void mutex::destroyed_in_use(const char* what) noexcept {
    const uint32_t bits = state_.lock_bits();
    if (!detail::abandoned::may_be(!waiters_.empty())) {
        detail::fatal("a %s was destroyed while it was locked or a thread waited for it; let its users finish first",
                      what);
    }
    waiters_.forget_all();
    state_.unlock_bits(detail::abandoned::at_exit() ? bits & (locked | recorded) : 0);
}

// Returns served if the caller holds the mutex; otherwise leaves no trace.
template <bool interruptible>
detail::wait_result mutex::contend(int64_t deadline_ns) noexcept {
    using namespace detail;
    int64_t waiting_since_ns = 0;
    bool was_woken = false;
    for (;;) {
        uint32_t bits = state_.lock_bits();
        if (was_woken) bits &= ~woken;
        if ((bits & (locked | starving)) == 0) {
            state_.unlock_bits(bits | locked);
            return wait_result::served;
        }
        const int64_t now = clock_ns();
        if (interruptible && now >= deadline_ns) {
            state_.unlock_bits(bits);  // if it was woken, the holder wakes the next
            return wait_result::timed_out;
        }
        if (waiting_since_ns == 0) waiting_since_ns = now;
        if (was_woken && now - waiting_since_ns > detail::starving_after_ns) bits |= starving;

        const bool lends = classes_in_use();
        if (lends) [[unlikely]]
            bits |= lend_to_holder();
        lock_waiter me(this, &pass_on);
        constexpr auto reason = wait_reason::mutex_lock;
        if constexpr (interruptible) {
            const wait_result result = wait_cancellable(state_, {.me = me,
                                                                 .queue = waiters_,
                                                                 .bits = bits | waiting,
                                                                 .reason = reason,
                                                                 .deadline_ns = deadline_ns,
                                                                 .at_front = was_woken,
                                                                 .for_lock = true});
            if (result != wait_result::served) {
                if (lends) waits_no_longer();
                give_up();
                return result;
            }
        } else {
            wait(state_,
                 {.me = me, .queue = waiters_, .bits = bits | waiting, .reason = reason, .at_front = was_woken});
        }
        if (lends) waits_no_longer();
        if (me.ok) {
            // Handed over.
            if (clock_ns() - waiting_since_ns < detail::starving_after_ns) {
                bits = state_.lock_bits();
                state_.unlock_bits(bits & ~starving);
            }
            return wait_result::served;
        }
        was_woken = true;
    }
}

void mutex::lock_slow() noexcept { static_cast<void>(contend<false>(detail::never)); }

bool mutex::lock_until(int64_t deadline_ns) {
    using detail::wait_result;
    const wait_result result = contend<true>(deadline_ns);
    if (result == wait_result::cancelled || result == wait_result::expired) {
        detail::tell_tokens(result);
        detail::throw_interrupted(result);
    }
    if (result == wait_result::served && detail::classes_in_use()) took();
    return result == wait_result::served;
}

void mutex::give_up() noexcept {
    uint32_t bits = state_.lock_bits();
    if (waiters_.empty()) bits &= ~(of_queue | starving);
    state_.unlock_bits(bits);
}

void mutex::unlock_slow() noexcept {
    using namespace detail;
    uint32_t bits = state_.lock_bits();
    if ((bits & locked) == 0) {
        state_.unlock_bits(bits);
        fatal("unlock of an unlocked weft::mutex; pair lock and unlock with std::lock_guard");
    }
    if (classes_in_use() && (bits & recorded) != 0) {
        gives();
        bits &= ~recorded;
    }
    if ((bits & waiting) == 0 || ((bits & woken) != 0 && (bits & starving) == 0)) {
        state_.unlock_bits(bits & ~locked);
        return;
    }
    waiter* w = waiters_.pop_claimed();
    if (w == nullptr) {
        // All timed out, or their runtime was stopped.
        state_.unlock_bits(bits & woken);
        return;
    }
    const uint32_t lent = bits;
    if (waiters_.empty()) bits &= ~of_queue;
    if ((bits & starving) != 0) {
        if ((bits & waiting) == 0) bits &= ~starving;
        w->ok = true;
        if (classes_in_use()) [[unlikely]]
            bits |= hand_to(*w, waiters_.empty() ? 0 : lent);
    } else {
        bits = (bits & ~locked) | woken;
    }
    state_.unlock_bits(bits);  // the last access
    ready(*w);
}

void mutex::pass_on(detail::lock_waiter& w, bool served) noexcept {
    using namespace detail;
    if (!served) return;
    mutex& m = *static_cast<mutex*>(w.slot);
    if (w.ok) {
        m.unlock();  // handed to w, which never ran
        return;
    }
    uint32_t bits = m.state_.lock_bits() & ~woken;
    waiter* next = nullptr;
    if ((bits & locked) == 0 && (bits & waiting) != 0) {
        next = m.waiters_.pop_claimed();
        if (m.waiters_.empty()) bits &= ~of_queue;
        if (next != nullptr) bits |= woken;
    }
    m.state_.unlock_bits(bits);
    if (next != nullptr) ready(*next);
}

}  // namespace weft
