// future_core.h: what futures of all types share: the wait, the exception, and how a cancellation travels.
//
// A future is fulfilled by a green thread (async), by the holder of a promise, or once others are ready (then, when_all, when_any). The last
// kind is *derived*, and the futures that it was made of, which it used up, are its *sources*. cancel() has to reach what really works:
//
//   green thread   its context is cancelled: its waits throw, it returns, and the future becomes ready with what it threw
//   promise        there is no work to reach: the future becomes ready with cancelled at once, and what the promise gives later is dropped
//   derived        its own context is cancelled and then, all the way up, each source as if by a cancel() of its own
//
// A derived future still becomes ready only when it would have anyway: when its sources, which end early now, are. So after a get()
// of a cancelled future nothing that it stood for runs any more, and what its functions refer to may go. Futures have one owner, and
// derived ones use their sources up, so no other thread waits for a source. One exception: when_any gives them
// back in its result, to be waited for by others; therefore a derived future lets its sources go before it completes.
//
// Rejected. Ending the wait of a derived future at once, as a wait in a channel ends: get() would return while the functions behind it
// still run, and their references dangle. Making sources children in the tree of contexts (cancel.h): a source that was started
// in a scope has a parent already. Strong references to sources: dropping a long chain would recurse once per link; the continuation
// holds its sources as long as they matter.
//
// The walk visits each derived future once, with a list that is linked through them: no recursion, no allocation.
//
// Invariants: F1. Whoever takes claim_ from open to taken is the only one to write the result of a promise.
//             F2. Once a derived future is complete, it has no sources.
// Ordering:   R1 (claim_ is given back) pairs with A1 (claim_ is taken). The result itself is published by the count word.
// Locks:      derivation::lock_ is a leaf: under it nothing is cancelled, and nothing is made ready.
// Who:        cancel: any thread; the rest: the thread that fulfils it.
// See:        docs/futures.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include <weft/detail/atomic.h>
#include <weft/detail/cancel.h>
#include <weft/detail/count_word.h>
#include <weft/detail/require.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

namespace weft::detail {

class future_core;

// The caller is about to wait for a future that it is to fulfil itself, if `who` names the caller (owner.h): fatal.
void check_not_oneself(const void* who) noexcept;

// Where an exception comes from that no caller will get.
enum class unobserved_source : uint8_t {
    future,  // one that was dropped
    scope,   // which throws its first one only
};

// deadline_ns: of what was around the code that threw e.
void report_unobserved(const std::exception_ptr& e, unobserved_source from, int64_t deadline_ns = never) noexcept;

// The sources of a derived future. In its state.
class derivation {
public:
    // The references lie in the same state.
    derivation(std::weak_ptr<future_core>* sources, std::size_t count) noexcept : sources_(sources), count_(count) {}

    derivation(const derivation&) = delete;
    derivation& operator=(const derivation&) = delete;

    // They are ready, or belong to others again: a cancellation does not reach them from here on. Before the future completes (F2).
    void let_go() noexcept;

private:
    friend class future_core;

    // nullptr: let go, or destroyed.
    [[nodiscard]] std::shared_ptr<future_core> source(std::size_t index) noexcept;

    std::weak_ptr<future_core>* const sources_;  // guarded by lock_
    const std::size_t count_;
    spin_lock lock_;
    guarded<bool> let_go_ = false;

    atomic<bool> cancelled_{false};               // set by the walk that visits this future
    std::shared_ptr<future_core> next_to_visit_;  // of that walk
};

class future_core {
public:
    future_core(const future_core&) = delete;
    future_core& operator=(const future_core&) = delete;

    // Asks what works on the result to end. Does not wait for that. Any thread.
    void cancel() noexcept;

    // Whether cancel() was called, or what is around its function is cancelled.
    [[nodiscard]] bool cancel_requested() noexcept { return context_.requested(); }

    void store_error(std::exception_ptr e) noexcept { error_ = std::move(e); }

    // After wait(). If there is an exception: gives it to another future, which passes it on, and returns true.
    bool pass_error(future_core& to) noexcept;

    // The caller is about to run its function.
    void begin() noexcept;

    // Wakes all that wait. What was around its function may go before this does.
    void complete() noexcept;

    // For promises. Whether the caller is the one that provides the result (F1); else it was cancelled.
    [[nodiscard]] bool claim() noexcept;

    // The caller, which has claimed it, could not provide the result, and may try again.
    void unclaim() noexcept;

    // A promise that is dropped: claims it, and stores broken_promise.
    void break_promise() noexcept;

    // Whether it is complete by deadline_ns. Throws cancelled and timed_out.
    bool wait_until(int64_t deadline_ns);

    [[nodiscard]] bool is_ready() noexcept { return pending_.is_zero(); }

    // For select, and continuations.
    count_word& pending() noexcept { return pending_; }

protected:
    enum class claim_state : uint8_t {
        open,   // a promise's, which has not given anything
        taken,  // its result is being written, or was; and all that belong to no promise
        asked,  // the same, and it was cancelled meanwhile
    };

    // In parent (nullptr: in nothing).
    future_core(cancel_context* parent, claim_state claim, derivation* derived) noexcept;

    ~future_core();

    count_word pending_;  // 1 until complete()
    cancel_context context_;
    atomic<const void*> fulfiller_;  // while its function runs; else nullptr
    derivation* const derivation_;   // nullptr: it is not derived
    atomic<claim_state> claim_;

    // Written before complete(), read after wait().
    bool error_is_expected_ = false;  // not reported if it is never taken: a promise was dropped
    std::exception_ptr error_;

private:
    void cancel_this() noexcept;
};

}  // namespace weft::detail
