// future_core.h: the untyped part of futures: the wait, the exception, and cancellation.
//
// A future is fulfilled by a green thread (async), by the holder of a promise, or once others are
// ready (then, when_all, when_any). The last kind is *derived*, and the futures it consumed are its
// *sources*. cancel() must reach the code that does the work:
//
//   green thread   its context is cancelled: its waits throw, it returns, and the future becomes
//                  ready with what it threw
//   promise        there is no work to reach: the future becomes ready with cancelled at once, and
//                  a later result of the promise is dropped
//   derived        its own context is cancelled, and then each source, recursively, as if by its
//                  own cancel()
//
// A derived future still becomes ready only when its sources are, which now end early. So after
// get() of a cancelled future none of its work runs, and objects that its functions refer to may be
// destroyed. Futures have one owner, and derived ones consume their sources, so no other thread
// waits for a source. One exception: when_any returns its sources, for others to wait for. So a
// derived future releases its sources before it completes.
//
// Rejected: Ending the wait of a derived future at once, like a wait in a channel. get() would
//           return while its functions still run, and their references would dangle.
// Rejected: Making sources children in the tree of contexts (cancel.h). A source started in a scope
//           already has a parent.
// Rejected: Strong references to sources. Dropping a long chain would recurse once per link; the
//           continuation holds its sources as long as they matter.
//
// The walk visits each derived future once, with a list linked through them: no recursion, no
// allocation.
//
// Invariants: F1. Only the thread that takes claim_ from open to taken writes a promise's result.
//             F2. A complete derived future has no sources.
// Ordering:   R1 (claim_ is given back) pairs with A1 (claim_ is taken). The count word publishes
//             the result itself.
// Locks:      derivation::lock_ is a leaf: no cancellation and no ready() happens under it.
// Threads:    cancel: any thread; the rest: the thread that fulfils the future.
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

// Called before a wait for a future. Fatal if `who` names the caller (owner.h), because it would
// wait for itself to fulfil the future.
void check_not_oneself(const void* who) noexcept;

// The origin of an exception that no caller will get.
enum class unobserved_source : uint8_t {
    future,  // a future that was dropped
    scope,   // a scope, which throws only its first one
};

// deadline_ns: the deadline around the code that threw e.
void report_unobserved(const std::exception_ptr& e, unobserved_source from, int64_t deadline_ns = never) noexcept;

// The sources of a derived future. Lies in its state.
class derivation {
public:
    // Requires: the references lie in the same state.
    derivation(std::weak_ptr<future_core>* sources, std::size_t count) noexcept : sources_(sources), count_(count) {}

    derivation(const derivation&) = delete;
    derivation& operator=(const derivation&) = delete;

    // Releases the sources, which are ready or have other owners again: cancellation no longer
    // reaches them. Called before the future completes (F2).
    void let_go() noexcept;

private:
    friend class future_core;

    // nullptr: released, or destroyed.
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

    // Asks the code that works on the result to end. Does not wait for that. Any thread.
    void cancel() noexcept;

    // Whether cancel() was called, or a context around its function is cancelled.
    [[nodiscard]] bool cancel_requested() noexcept { return context_.requested(); }

    void store_error(std::exception_ptr e) noexcept { error_ = std::move(e); }

    // Requires: wait() has returned. If there is an exception, passes it to another future and
    // returns true.
    bool pass_error(future_core& to) noexcept;

    // The caller is about to run the future's function.
    void begin() noexcept;

    // Wakes all waiters. The contexts around its function may be destroyed before this future is.
    void complete() noexcept;

    // For promises. Returns whether the caller provides the result (F1); false if the future was
    // cancelled.
    [[nodiscard]] bool claim() noexcept;

    // Undoes claim(): the caller could not provide the result and may try again.
    void unclaim() noexcept;

    // A promise is dropped: claims its future and stores broken_promise.
    void break_promise() noexcept;

    // Waits until deadline_ns; returns whether the future is complete. Throws cancelled and
    // timed_out.
    bool wait_until(int64_t deadline_ns);

    [[nodiscard]] bool is_ready() noexcept { return pending_.is_zero(); }

    // For select, and continuations.
    count_word& pending() noexcept { return pending_; }

protected:
    enum class claim_state : uint8_t {
        open,   // a promise that has given no result
        taken,  // its result is being written, or was; also every future without a promise
        asked,  // as taken, and cancelled in between
    };

    // parent: the context it is opened in (nullptr: none).
    future_core(cancel_context* parent, claim_state claim, derivation* derived) noexcept;

    ~future_core();

    count_word pending_;  // 1 until complete()
    cancel_context context_;
    atomic<const void*> fulfiller_;  // while its function runs; else nullptr
    derivation* const derivation_;   // nullptr: not derived
    atomic<claim_state> claim_;

    // Written before complete(), read after wait().
    bool error_is_expected_ = false;  // not reported if it is never taken: a promise was dropped
    std::exception_ptr error_;

private:
    void cancel_this() noexcept;
};

}  // namespace weft::detail
