// count_word.h: a counter with a wait for zero, after which it may be destroyed at once.
//
// One 32-bit word: bit 0 is the queue's lock, bit 1 is set while there are waiters, the rest is the
// count. The thread that takes the count to zero with waiters takes the lock first, collects the
// waiters, and stores 0: count, bit and lock change in one store. After it only the waiters are
// touched, which live until they are made ready. A waiter that arrives in between spins on the lock
// bit, sees zero and returns.
//
// Rejected: Count and lock in two words. The last done() would unlock a lock that the woken waiter
//           has already destroyed.
//
// Invariants: I1. Bit waiting is set whenever the queue is not empty (a waiter that timed out may
//                 leave it set).
//             I2. The object is not touched after the store of 0.
// Ordering:   R1 (a decrement, or the store of 0) pairs with A1 (a waiter reads zero): what was
//             done before done() is visible after wait().
// Threads:    any thread.
// See:        docs/wait_group.md, test/model/wait_group_model.cc
#pragma once

#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/hold.h>
#include <weft/detail/require.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/step.h>
#include <weft/detail/wait.h>

namespace weft::detail {

// Ends the process: the change would take the count out of its range.
[[noreturn]] void fatal_count(int64_t count, int64_t change) noexcept;

// A wait group is destroyed while its count is not zero. Fatal, unless the threads that would count
// down, and the waiters, may never run again.
void check_group_destroyed(uint32_t count, bool waited_on) noexcept;

class count_word {
public:
    static constexpr uint32_t max_count = (1U << 30) - 1;

    // Adds one to the count.
    void increment() noexcept {
        step(operation::count_add, this);
        uint32_t seen = state_.word().load(relaxed_cas);
        const bool plain = (seen & guarded_word::guard) == 0 && seen < one * max_count;
        // acq_rel: as in add_slow
        if (!plain || !state_.word().compare_exchange_strong(seen, seen + one, acq_rel, relaxed)) add_slow(1);
    }

    // Subtracts one from the count; if it becomes zero, wakes all waiters. The object may then be
    // gone on return.
    void decrement() noexcept {
        step(operation::count_add, this);
        const hold_if<false> held;
        uint32_t seen = state_.word().load(relaxed_cas);
        if (seen == (one | waiting)) {
            // The last one, and there are waiters: takes the lock in the same exchange.
            if (state_.word().compare_exchange_strong(seen, seen | guarded_word::guard, acq_rel, relaxed)) {  // R1
                state_.assume_held();
                release_waiters();
                return;
            }
        }
        // Subtracts directly unless this is the last one with waiters, the count would go below
        // zero, or the lock is held.
        const bool plain = (seen & guarded_word::guard) == 0 && (seen >= 2 * one || seen == one);
        // R1
        if (!plain || !state_.word().compare_exchange_strong(seen, seen - one, acq_rel, relaxed)) add_slow(-1);
    }

    // Adds change to the count, with the effects of increment and decrement.
    void add(int32_t change) noexcept {
        if (change == 1) {
            increment();
        } else {
            step(operation::count_add, this);
            add_slow(change);
        }
    }

    // Blocks until the count is zero.
    void wait(wait_reason reason) noexcept {
        step(operation::count_wait, this);
        atomic<uint32_t>& word = state_.word();
        if (word.load(acquire) == 0) return;  // A1
        const hold_if<false> held;
        const uint32_t bits = state_.lock_bits();
        if (bits >> shift == 0) {
            state_.unlock_bits(bits);
            return;
        }
        waiter me;
        weft::detail::wait(state_, {.me = me, .queue = waiters_, .bits = bits | waiting, .reason = reason});
    }

    // As wait(), with a deadline and as a cancellation point. worker: the thread that will end the
    // wait (owner.h), for reports.
    [[nodiscard]] wait_result wait_cancellable(wait_reason reason,
                                               int64_t deadline_ns,
                                               atomic<const void*>* worker = nullptr) noexcept {
        step(operation::count_wait, this);
        if (state_.word().load(acquire) == 0) return wait_result::served;  // A1
        const hold_if<false> held;
        const uint32_t bits = state_.lock_bits();
        if (is_zero(bits) || deadline_ns <= 0) {
            state_.unlock_bits(bits);
            return is_zero(bits) ? wait_result::served : wait_result::timed_out;
        }
        waiter me;
        me.slot = worker;
        return weft::detail::wait_cancellable(
            state_,
            {.me = me, .queue = waiters_, .bits = bits | waiting, .reason = reason, .deadline_ns = deadline_ns});
    }

    // Checks a group that is being destroyed.
    void check_destroyed() noexcept {
        if (state_.word().load(relaxed) >> shift != 0) [[unlikely]]
            destroyed_early();  // relaxed: a check. While there are waiters the count is not zero
    }

    // Whether the count is zero.
    [[nodiscard]] bool is_zero() noexcept { return state_.word().load(acquire) >> shift == 0; }  // A1

    // For select, which waits in its own way. is_zero(bits): whether the count is zero in bits read
    // under the lock.
    guarded_word& lock_word() noexcept { return state_; }

    wait_queue& waiters() noexcept { return waiters_; }

    [[nodiscard]] static bool is_zero(uint32_t bits) noexcept { return bits >> shift == 0; }

    static constexpr uint32_t waiting_bit = 2;

private:
    [[gnu::noinline]] void destroyed_early() noexcept {
        const hold_if<false> held;
        const uint32_t bits = state_.lock_bits();
        check_group_destroyed(bits >> shift, !waiters_.empty());
        waiters_.forget_all();
        state_.unlock_bits(bits);
    }

    static constexpr uint32_t waiting = waiting_bit;
    static constexpr uint32_t shift = 2;
    static constexpr uint32_t one = 1U << shift;

    [[gnu::noinline]] void add_slow(int32_t change) noexcept {
        const hold_if<false> held;
        atomic<uint32_t>& word = state_.word();
        uint32_t seen = word.load(relaxed);  // relaxed: the exchanges below decide
        for (uint32_t attempt = 0;;) {
            if ((seen & guarded_word::guard) != 0) {
                spin_backoff(attempt++);
                seen = word.load(relaxed);  // relaxed: as above
                continue;
            }
            const int64_t count = int64_t{seen >> shift} + change;
            if (count < 0 || count > max_count) fatal_count(int64_t{seen >> shift}, change);
            const bool wakes = count == 0 && (seen & waiting) != 0;
            const uint32_t wanted =
                wakes ? seen | guarded_word::guard : (static_cast<uint32_t>(count) << shift) | (seen & waiting);
            if (!word.compare_exchange_weak(seen, wanted, acq_rel, relaxed))
                continue;  // R1; acquire: the queue, if we lock
            if (wakes) {
                state_.assume_held();
                release_waiters();
            }
            return;
        }
    }

    // The count goes from the last piece to zero. Requires: the lock is held.
    [[gnu::noinline]] void release_waiters() noexcept WEFT_RELEASE(state_) {
        waiter* chain = waiters_.pop_all_claimed();
        state_.unlock_bits(0);  // R1; I2: the object is not touched after this
        if (chain != nullptr && chain->next == nullptr) {
            ready(*chain);
        } else {
            ready_all(chain);
        }
    }

    guarded_word state_;
    wait_queue waiters_;  // guarded by state_
};

}  // namespace weft::detail
