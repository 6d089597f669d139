// condition_variable.cc: the core of both condition variables; see weft/condition_variable.h.
//
// The word counts waiters that return to the queue's lock although they are not queued. The
// destructor waits for them:
//
//   C1  A notify finds the waiter claimed by a deadline or cancellation. The waiter locks the queue
//       to unlink itself (L4), and finds itself unlinked.
//   C2  A wait with a stop_token, while its callback, which takes the lock, is registered.
#include <optional>

#include <weft/condition_variable.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "wait/wake_list.h"

namespace weft {

namespace detail {

namespace {

// Wins w's wait and unlinks it. Returns false if another party has won; w stays linked. The queue
// is locked.
bool claim(wait_queue& queue, waiter& w) noexcept {
    if (w.claim != nullptr && !w.claim->try_claim(w.which, w.must_ready)) return false;
    queue.remove(w);
    return true;
}

}  // namespace

struct condition_waiter : lock_waiter {
    condition_waiter() noexcept : lock_waiter(nullptr, &condition_wait_abandoned) {}

    stop_watch* stop = nullptr;
};

// C2, in the waiter's frame.
struct stop_watch {
    struct callback {
        stop_watch& watch;

        void operator()() const noexcept { watch.fire(); }
    };

    condition_core& core;
    condition_waiter me;
    guarded<bool> fired = false;  // by the core's lock
    std::optional<std::stop_callback<callback>> at_stop;

    explicit stop_watch(condition_core& c) noexcept : core(c) { me.stop = this; }

    // Runs at most once, on any thread.
    void fire() noexcept {
        const uint32_t bits = core.state_.lock_bits();
        fired = true;
        const bool ours = me.queue != nullptr && claim(core.waiters_, me);
        core.state_.unlock_bits(bits);
        if (ours) ready(me);
    }
};

wait_result condition_core::wait(mutex& m, int64_t deadline_ns, const std::stop_token* stop) noexcept {
    step(operation::condition_wait, this);
    if (stop != nullptr) return wait_stoppable(m, deadline_ns, *stop);
    condition_waiter me;
    return park(me, state_.lock_bits(), m, deadline_ns);
}

wait_result condition_core::wait_stoppable(mutex& m, int64_t deadline_ns, const std::stop_token& stop) noexcept {
    stop_watch watch(*this);
    watch.at_stop.emplace(stop, stop_watch::callback{watch});
    const uint32_t bits = state_.lock_bits() + one;
    wait_result result = wait_result::served;
    if (watch.fired) {
        m.unlock_now();
        if (simulates()) [[unlikely]]
            note_done(operation::mutex_unlock, &m);
        state_.unlock_bits(bits);
    } else {
        result = park(watch.me, bits, m, deadline_ns);
    }
    watch.at_stop.reset();  // the callback cannot run after this
    come_back();
    return result;
}

// Requires: the queue is locked; bits are its word's.
wait_result condition_core::park(condition_waiter& me, uint32_t bits, mutex& m, int64_t deadline_ns) noexcept {
    if (waiters_.empty()) {
        used_with_ = &m;
    } else if (used_with_ != &m) {
        state_.unlock_bits(bits);
        fatal(
            "a weft::condition_variable was used with two mutexes at the same time; use one mutex for all its waiters");
    }
    me.slot = this;
    m.unlock_now();
    if (simulates()) [[unlikely]]
        note_done(operation::mutex_unlock, &m);
    const wait_result result = wait_cancellable(state_, {.me = me,
                                                         .queue = waiters_,
                                                         .bits = bits | waiting,
                                                         .reason = wait_reason::condition_wait,
                                                         .deadline_ns = deadline_ns,
                                                         .always_claimed = true});
    if (result != wait_result::served && me.ok) come_back();  // C1
    return result;
}

// Unlinks the oldest waiter whose wait the caller wins; nullptr without one. Counts C1 in bits.
waiter* condition_core::pop_locked(uint32_t& bits) noexcept {
    while (waiter* w = waiters_.front()) {
        if (claim(waiters_, *w)) return w;
        waiters_.remove(*w);
        w->ok = true;  // C1
        bits += one;
    }
    return nullptr;
}

void condition_core::come_back() noexcept {
    uint32_t bits = state_.lock_bits() - one;
    waiter* destructor = nullptr;
    if (bits < one && (bits & dying) != 0) destructor = waiters_.pop_claimed();
    state_.unlock_bits(bits);
    if (destructor != nullptr) ready(*destructor);
}

void condition_core::notify_one_slow() noexcept {
    uint32_t bits = state_.lock_bits();
    waiter* w = pop_locked(bits);
    if (waiters_.empty()) bits &= ~waiting;
    state_.unlock_bits(bits);
    if (w != nullptr) ready(*w);
}

void condition_core::notify_all_slow() noexcept {
    uint32_t bits = state_.lock_bits();
    wake_list woken;
    while (waiter* w = pop_locked(bits)) woken.add(*w);
    state_.unlock_bits(bits & ~waiting);
    woken.wake();
}

void condition_core::wait_for_returns() noexcept {
    const uint32_t bits = state_.lock_bits();
    if (!waiters_.empty() && !abandoned::may_be(true)) {
        fatal("a weft::condition_variable was destroyed while a thread waited on it; call notify_all() first");
    }
    waiters_.forget_all();
    if (bits < one || abandoned::at_exit()) {
        state_.unlock_bits(bits);
        return;
    }
    condition_waiter me;
    weft::detail::wait(state_,
                       {.me = me, .queue = waiters_, .bits = bits | dying, .reason = wait_reason::condition_wait});
}

void condition_wait_abandoned(lock_waiter& w, bool served) noexcept {
    auto* core = static_cast<condition_core*>(w.slot);
    if (!served && w.claim != nullptr) {
        // A notify may have counted it (C1) without claiming it. The object lives until such a
        // waiter returns, or while none is counted.
        const uint32_t bits = core->state_.lock_bits();
        const bool counted = w.ok;
        core->state_.unlock_bits(bits);
        if (counted) core->come_back();
    }
    if (stop_watch* stop = static_cast<condition_waiter&>(w).stop) {
        stop->at_stop.reset();  // C2; the frame will be freed
        core->come_back();
    }
}

mutex& mutex_held_by(const std::unique_lock<mutex>& lock) noexcept {
    if (!lock.owns_lock())
        fatal("wait on a weft::condition_variable with a lock that does not hold its mutex; lock it first");
    return *lock.mutex();
}

}  // namespace detail

bool condition_variable::wait_ns(std::unique_lock<mutex>& lock, int64_t deadline_ns, const std::stop_token* stop) {
    mutex& m = detail::mutex_held_by(lock);
    const detail::wait_result result = core_.wait(m, deadline_ns, stop);
    m.lock();
    return detail::time_is_up(result);
}

}  // namespace weft
