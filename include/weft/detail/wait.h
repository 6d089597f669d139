// wait.h: how every blocking operation of weft waits: a waiter in a queue, a claim, a wake-up.
//
// A thread that blocks puts a waiter into its own frame (stacks do not move), links it into the
// object's queue, and parks. The thread that ends the wait claims the waiter under the queue's
// lock, unlinks it, releases the lock, hands over the value, and calls ready(). A green thread
// parks its G; a plain OS thread sleeps on a futex. The waker sees no difference.
//
// A wait that only one queue can end needs no claim: unlinking the waiter under the lock wins. A
// wait that several parties may end (queues, deadline, cancellation) has a claim word, which then
// tells the winner:
//
//      preparing ──park──▶ parked ──claim──▶ claimed      the claimer readies the G
//          └────────────claim────────────────▶ claimed      the claimer does not: park sees it
//
// While a G prepares, it holds the locks of all queues it is in. So only its deadline and its
// cancellation can claim a wait that is not yet parked. These have locks of their own and hand
// nothing over.
//
// Rules (numbers as in docs/waiting.md):
//   L1 Claim only under the lock of the queue or heap that led to the waiter.
//   L2 The loser unlinks under that lock and never touches the waiter again.
//   L3 The winner touches the frame only until ready(); close and broadcast claim under the lock,
//      then chain.
//   L4 Before its frame dies, the woken side takes the lock of every queue it was on, unless the
//      winner unlinked it.
//   L5 A plain thread's futex word lies in a per-thread note that is never freed, because
//      FUTEX_WAKE follows the store.
//   L6 In a wait that only one queue may end, unlinking under the lock wins.
//   L7 A wait in several queues takes their locks in the order of their addresses.
//
// Threads: wait(): any thread that may block; ready(): any thread that holds no object lock.
// See: docs/waiting.md, test/model/claim_model.cc
#pragma once

#include <cstdint>
#include <limits>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/thread_safety.h>

namespace weft::detail {

struct G;
struct thread_note;

// Why a green thread waits; shown in dumps. One enumerator per kind of blocking call; values are
// never reused.
enum class wait_reason : uint8_t {
    none,
    chan_receive,
    chan_send,
    chan_receive_nil,
    chan_send_nil,
    mutex_lock,
    wait_group_wait,
    future_get,
    sleep,
    start,
    select,
    select_no_cases,
    shared_mutex_lock,
    shared_mutex_lock_shared,
    condition_wait,
    semaphore_acquire,
    latch_wait,
    barrier_wait,
    once,
    event_wait,
    single_flight,
    scope_join,
    timer,
    fd_readable,
    fd_writable,
    select_fd,
    file_operation,
    process_end,
};

// The outcome of a wait that several parties may end.
enum class wait_result : uint8_t {
    served,     // by the object: the waiter holds what it handed over
    timed_out,  // the operation's own deadline passed
    cancelled,  // a scope or future around the caller was cancelled
    expired,    // the deadline of a with_deadline around the caller passed
};

// Absolute times are nanoseconds on the monotonic clock. `never` means no deadline.
inline constexpr int64_t never = (std::numeric_limits<int64_t>::max)();

// A deadline that has passed. Not 0, which means "do not wait at all".
inline constexpr int64_t long_ago = 1;

// What ended a wait: a queue, by the number of its case (0 if there is only one), or one of these.
namespace claimed_by {
inline constexpr uint32_t deadline = 0xffffff00;
inline constexpr uint32_t cancellation = 0xffffff01;
inline constexpr uint32_t nobody_left = 0xffffff02;  // its runtime has ended
}  // namespace claimed_by

// Decides which of several parties ends a wait. See the drawing above.
class claim_word {
public:
    // Tries to end the wait, and returns whether the caller has won. Each party calls it under its
    // own queue's lock (L1). must_ready tells the winner whether it must ready the waiter, or park
    // notices by itself.
    [[nodiscard]] bool try_claim(uint32_t who, bool& must_ready) noexcept {
        uint32_t seen = word_.load(relaxed_cas);
        while (seen < first_claim) {
            if (word_.compare_exchange_weak(seen, first_claim + who, acq_rel, relaxed)) {  // R1 to A1; A2 from R2
                must_ready = seen == parked;
                return true;
            }
        }
        return false;
    }

    // Called once the waiting context is saved. Returns false if another thread has claimed and
    // left the ready() to the caller.
    [[nodiscard]] bool publish_parked() noexcept {
        uint32_t seen = preparing;
        return word_.compare_exchange_strong(seen, parked, acq_rel, acquire);  // R2 to A2; A1 from R1
    }

    // The winner. Requires: the wait is over.
    [[nodiscard]] uint32_t winner() const noexcept { return word_.load(relaxed) - first_claim; }  // relaxed: over

private:
    static constexpr uint32_t preparing = 0;
    static constexpr uint32_t parked = 1;
    static constexpr uint32_t first_claim = 2;

    atomic<uint32_t> word_{preparing};
};

// Replaces waiter.claim if a wait that no other party could end is ended because its runtime stops:
// src/lifecycle/stopping.h. Only its address is used.
extern claim_word cancelled_by_stop;

class wait_queue;

// One blocked caller in one queue. Lies in the caller's frame; while linked it is guarded by the
// queue's lock. Left uninitialised where push_ and wait() write anyway.
struct waiter {
    waiter() noexcept {}  // NOLINT: see above

    guarded<waiter*> next;
    guarded<waiter*> prev;
    peekable<wait_queue*> queue = nullptr;  // where it is linked; nullptr once unlinked
    guarded<guarded_word*> lock;            // the lock of that queue
    guarded<G*> g;                          // the waiter: a green thread, or if nullptr …
    guarded<thread_note*> note;             // … a plain thread
    guarded<claim_word*> claim = nullptr;   // nullptr: no other party can end the wait (L6)
    guarded<void*> slot = nullptr;          // what the object hands over, or takes from
    guarded<bool> ok = false;  // set by the winner before ready(): true if slot was served, false if closed
    bool must_ready;           // set by the winner's claim
    uint32_t which;            // with a claim: the number of its case
    waiter* also;              // with a claim: the next waiter of the same wait
};

// A waiter of a lock, a condition variable or a file descriptor. What it receives may have to be
// passed on: the lock itself, or the duty to have the available data consumed. pass_on does that if
// its runtime is stopped before it runs again.
struct lock_waiter : waiter {
    // w is off its queue and will never run again. served: the object had claimed it and given it
    // what it gives.
    using passer = void (*)(lock_waiter& w, bool served) noexcept;

    // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject): as any waiter, filled in when it waits
    lock_waiter(void* object, passer p) noexcept : pass_on(p) { slot = object; }

    const passer pass_on;
};

[[nodiscard]] constexpr bool waits_for_lock(wait_reason reason) noexcept {
    return reason == wait_reason::mutex_lock || reason == wait_reason::shared_mutex_lock ||
           reason == wait_reason::shared_mutex_lock_shared;
}

// Whether reason is a wait for an edge of a descriptor.
[[nodiscard]] constexpr bool waits_for_fd(wait_reason reason) noexcept {
    return reason == wait_reason::fd_readable || reason == wait_reason::fd_writable ||
           reason == wait_reason::process_end;
}

// Whether the event comes from outside the process. The runtime cannot tell that it will never
// come.
[[nodiscard]] constexpr bool is_woken_from_outside(wait_reason reason) noexcept {
    return waits_for_fd(reason) || reason == wait_reason::select_fd || reason == wait_reason::file_operation;
}

// Whether the waiters with this reason are lock_waiters.
[[nodiscard]] constexpr bool passes_on(wait_reason reason) noexcept {
    return waits_for_lock(reason) || waits_for_fd(reason) || reason == wait_reason::condition_wait;
}

// A lock that a parking G holds, and the object's bits to store when it is released.
struct held_lock {
    guarded_word* lock;
    uint32_t bits;
};

// The waiters of one object, oldest first. Guarded by the object's lock.
class wait_queue {
public:
    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }

    // As empty(), without the lock: a hint.
    [[nodiscard]] bool seems_empty() const noexcept { return head_.peek() == nullptr; }

    [[nodiscard]] waiter* front() const noexcept { return head_; }

    // As front(), without the lock: only an address, at which there may no longer be a waiter.
    [[nodiscard]] const void* front_hint() const noexcept { return head_.peek(); }

    void push_back(waiter& w) noexcept {
        w.queue = this;
        w.next = nullptr;
        w.prev = tail_;
        if (tail_ != nullptr) {
            tail_->next = &w;
        } else {
            head_ = &w;
        }
        tail_ = &w;
    }

    void push_front(waiter& w) noexcept {
        w.queue = this;
        w.prev = nullptr;
        w.next = head_;
        if (head_ != nullptr) {
            head_->prev = &w;
        } else {
            tail_ = &w;
        }
        head_ = &w;
    }

    // Unlinks w. O(1). Requires: w is linked here.
    void remove(waiter& w) noexcept {
        if (w.prev != nullptr) {
            w.prev->next = w.next;
        } else {
            head_ = w.next;
        }
        (w.next != nullptr ? w.next->prev : tail_) = w.prev;
        w.queue = nullptr;
    }

    // Unlinks all waiters for good: the queue is being destroyed, and they will never run again.
    void forget_all() noexcept {
        while (waiter* w = head_) {
            remove(*w);
            w->lock = nullptr;
        }
    }

    // Unlinks and returns the oldest waiter whose wait the caller has now won; nullptr if there is
    // none. Waiters that were claimed by other parties are unlinked on the way (L2).
    [[nodiscard]] waiter* pop_claimed() noexcept {
        while (waiter* w = head_) {
            pop_front(*w);
            if (w->claim == nullptr || w->claim->try_claim(w->which, w->must_ready)) return w;
        }
        return nullptr;
    }

    // Unlinks all waiters and returns those that the caller has won, chained by next, oldest first.
    [[nodiscard]] waiter* pop_all_claimed() noexcept {
        if (head_ != nullptr && head_ == tail_ && head_->claim == nullptr) {
            // One waiter that only this queue can claim: the common case.
            waiter* only = head_;
            remove(*only);
            only->next = nullptr;
            return only;
        }
        guarded<waiter*> first = nullptr;
        guarded<waiter*>* link = &first;
        while (waiter* w = pop_claimed()) {
            *link = w;
            link = &w->next;
        }
        *link = nullptr;
        return first;
    }

private:
    // As remove(), for the head.
    void pop_front(waiter& w) noexcept {
        head_ = w.next;
        (w.next != nullptr ? w.next->prev : tail_) = nullptr;
        w.queue = nullptr;
    }

    peekable<waiter*> head_ = nullptr;
    guarded<waiter*> tail_ = nullptr;
};

// One wait of one caller in one queue.
struct wait_request {
    waiter& me;
    wait_queue& queue;
    uint32_t bits;  // the object's, stored when the lock is released
    wait_reason reason;
    int64_t deadline_ns = never;
    bool at_front = false;  // joins at the head: a waiter of a lock that was woken and lost the race
    // Always has a claim word: the object may be gone after the wait has ended and before
    // wait_cancellable() returns.
    bool always_claimed = false;
    // The wait is for a lock. The caller stops the tokens itself (tell_tokens) once its own state
    // is consistent, and without a deadline a stopping runtime does not end the wait.
    bool for_lock = false;
};

// The out-of-line parts of wait() and wait_cancellable(): arguments in registers.
void wait_in_queue(
    waiter& w, wait_queue& queue, guarded_word& lock, uint32_t bits, wait_reason reason, bool at_front) noexcept
    WEFT_RELEASE(lock);
[[nodiscard]] wait_result wait_in_queue_until(
    waiter& w, wait_queue& queue, guarded_word& lock, uint32_t bits, wait_reason reason, int64_t deadline_ns) noexcept
    WEFT_RELEASE(lock);
[[nodiscard]] wait_result wait_as_requested(guarded_word& lock, const wait_request& r) noexcept WEFT_RELEASE(lock);

// Blocks until another thread has claimed r.me and called ready(). Nothing else ends the wait:
// r.deadline_ns must be `never`. lock guards r.queue. It is held on entry, and released once the
// caller is parked.
inline void wait(guarded_word& lock, const wait_request& r) noexcept WEFT_RELEASE(lock) {
    wait_in_queue(r.me, r.queue, lock, r.bits, r.reason, r.at_front);
}

// As wait(), and a cancellation point. The wait also ends when r.deadline_ns passes, when a scope
// around the caller is cancelled, or when its ambient deadline passes.
//
// r.me is on no queue unless the result is served. A deadline that is not later than the ambient
// one takes precedence. If interrupted, stops the tokens, which runs their users' callbacks, unless
// r.for_lock.
[[nodiscard]] inline wait_result wait_cancellable(guarded_word& lock, const wait_request& r) noexcept
    WEFT_RELEASE(lock) {
    if (r.at_front || r.always_claimed || r.for_lock) return wait_as_requested(lock, r);
    return wait_in_queue_until(r.me, r.queue, lock, r.bits, r.reason, r.deadline_ns);
}

// Stops the std::stop_tokens around the caller after its wait for a lock was interrupted:
// cancel_context::tell_tokens.
void tell_tokens(wait_result why) noexcept;

// Throws weft::cancelled or weft::timed_out for result cancelled or expired. The caller must hold
// no object lock.
[[noreturn]] void throw_interrupted(wait_result result);

// Blocks for ever. For operations on nil channels.
[[noreturn]] void wait_forever(wait_reason reason) noexcept;

// Ends a wait that the caller has claimed. w may be gone on return. The caller must hold no object
// lock. O(1).
void ready(waiter& w) noexcept;

// As ready(), for a chain from pop_all_claimed(). Causes at most one futex wake per runtime until
// the woken M has found the work: it spins, and while an M spins no other is woken.
void ready_all(waiter* chain) noexcept;

// A G that waited for a semaphore will never run again: gives back what it was handed, or serves
// those behind it.
void semaphore_wait_abandoned(waiter& w) noexcept;

// In the child of fork: forgets the notes of plain threads and resets their lock.
void forget_thread_notes() noexcept;

// The current time on the monotonic clock, in nanoseconds.
[[nodiscard]] int64_t now_ns() noexcept;

}  // namespace weft::detail
