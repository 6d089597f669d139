// cancel.h: what a wait can be cancelled by: the contexts around it.
//
// A context is what a scope, an async call or a with_deadline puts around code: it may be cancelled, and it may have a deadline.
// It lies in the frame (or the shared state) of whoever opened it and has a parent, the context it was opened in, which lives
// longer: whoever opens a context waits for what runs in it. So contexts are a tree, and the innermost one is the *ambient* context of
// a green thread. Each green thread that starts in a context opens one of its own; so no more than one wait is open in a context,
// and waits of different green threads share nothing.
//
//   wait     under the object's lock: enter_wait() leaves the wait in the ambient context; leave_wait() when it is over
//   cancel   walks down the tree: marks each context, and claims the wait that is open in it; then makes ready, with no lock held
//
// Most green threads never block in a context, or nobody ever cancels it. So a context is linked into its parent only when
// somebody asks it for the first time (arm): before, it costs its few stores. A context that is linked has linked ancestors, and one
// that is linked to a cancelled parent is cancelled from then on.
//
// What a wait says, the std::stop_tokens say too: whoever cancels stops them, after it has made ready whom it has interrupted; who is
// interrupted and comes first stops them itself (tell_tokens), before it throws.
//
// Deadlines need no tree: a context knows the earliest deadline of itself and all around it, and each wait arms one timer for that.
//
// Rejected. One list of waits in each scope: all its green threads would take its lock at each wait. A reference-counted tree as
// Go's context: an allocation for each scope, and structured code does not need it. A flag that waits poll.
//
// Invariants: C1. armed implies that the parent is armed, or that there is none.
//             C2. requested, once set, stays; a context linked under a requested one is requested.
//             C3. blocked_ is the wait that is open, as long as it can be claimed; claimed under lock_ (L1 of wait.h).
// Locks:      lock_ of a parent, then that of its child; may be taken while an object's lock is held. Nothing is taken under it.
// Ordering:   R1 (armed) pairs with A1.
// Who:        enter_wait, leave_wait, the destructor: the green thread it belongs to; cancel, requested: any thread.
// See:        docs/cancellation.md, test/model/cancel_model.cc
#pragma once

#include <algorithm>
#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

namespace weft::detail {

struct stop_bridge;
class cancel_context;

// Where a context is opened: in which one, and while how many exceptions unwind the stack. An exception that was thrown inside a
// context makes it, and all around, deaf; what a destructor opens then is in none, and heard.
struct enclosing {
    cancel_context* context = nullptr;
    int uncaught = 0;
};

// One wait, as the context around it knows it. In the frame of whoever waits.
struct cancel_wait {
    guarded<claim_word*> claim;
    guarded<G*> g;               // who waits: a green thread, or if nullptr …
    guarded<thread_note*> note;  // … a plain thread
    guarded<cancel_wait*> next;  // in the chain of those that are to be made ready
};

class cancel_context {
public:
    // A context in parent (nullptr: in none), with a deadline of its own (never: none).
    cancel_context(cancel_context* parent, int64_t deadline_ns) noexcept
        : cancel_context(enclosing{parent, 0}, deadline_ns) {}

    cancel_context(const enclosing& around, int64_t deadline_ns) noexcept
        : deadline_ns_(around.context == nullptr ? deadline_ns : (std::min)(deadline_ns, around.context->deadline_ns_)),
          parent_(around.context),
          armed_(around.context == nullptr),
          uncaught_(around.uncaught) {}

    cancel_context(const cancel_context&) = delete;
    cancel_context& operator=(const cancel_context&) = delete;

    ~cancel_context() {
        if ((parent_ != nullptr && armed_.load(relaxed)) || bridge_ != nullptr)  // relaxed: whoever armed it has left
            end();
    }

    // The earliest deadline around; never: none.
    [[nodiscard]] int64_t deadline_ns() const noexcept { return deadline_ns_; }

    // How many exceptions unwound the stack when it was opened.
    [[nodiscard]] int uncaught() const noexcept { return uncaught_; }

    // Ends all waits that are open in this context and in those inside it, and all that begin later. Any thread. O(contexts inside).
    void cancel() noexcept;

    // The same for the outermost context around this one, on behalf of a runtime that stops. The green thread it belongs to.
    void cancel_all_around() noexcept;

    // Whether it has been cancelled, or one around it.
    [[nodiscard]] bool requested() noexcept;

    // A wait begins, which may be claimed from here on. False: no, the context is cancelled.
    [[nodiscard]] bool enter_wait(cancel_wait& w) noexcept;

    // It is over: nobody touches it any more. Also for a green thread that will never run again.
    void leave_wait() noexcept;

    // A wait in it, which is over, was interrupted; or why is how one would be. Stops the tokens from here outwards, as far as they are
    // concerned. Calls what is registered with them. O(contexts around), once; after that O(1).
    void tell_tokens(wait_result why) noexcept;

    // Nothing around it matters any more: its parent may go before it does. The green thread it belongs to, when it ends.
    void detach() noexcept;

    // What turns cancellation into a std::stop_token; made by make, which may throw, on first use. Never freed before this.
    stop_bridge& bridge(stop_bridge* (*make)(int64_t deadline_ns));

private:
    void arm() noexcept;
    void link_to_parent() noexcept;
    void unlink_from_parent() noexcept;
    void end() noexcept;

    struct harvest;
    void mark(harvest& h) noexcept;

    const int64_t deadline_ns_;
    cancel_context* parent_;
    atomic<bool> armed_;
    const int uncaught_;

    spin_lock lock_;
    // Guarded by lock_.
    guarded<bool> requested_ = false;
    guarded<bool> told_cancelled_ = false;  // see tell_tokens
    guarded<bool> told_expired_ = false;
    guarded<cancel_wait*> blocked_ = nullptr;
    guarded<cancel_context*> first_child_ = nullptr;
    guarded<stop_bridge*> bridge_ = nullptr;

    // Guarded by the parent's lock_.
    guarded<cancel_context*> next_ = nullptr;
    guarded<cancel_context*> prev_ = nullptr;
};

// The ambient context of code that nothing interrupts, though something may be around it: it is in no other one, and never cancelled. To
// those who ask for contexts it is none. Only its address is used.
[[nodiscard]] cancel_context* shield_context() noexcept;

// The same for a green thread in no context whose runtime stops with a deadline: so its waits take the way on which that is looked at.
[[nodiscard]] cancel_context* stop_context() noexcept;

// Whether c is a context, and not nullptr or one of those two.
[[nodiscard]] bool is_context(const cancel_context* c) noexcept;

// The innermost context around the caller; nullptr where there is none.
[[nodiscard]] cancel_context* ambient() noexcept;

// Where the caller is, as one who opens a context.
[[nodiscard]] enclosing enclosing_context() noexcept;

// Makes c the ambient context of the caller, on whose stack it lies, or not. Returns the one before.
cancel_context* exchange_ambient(cancel_context* c, bool lies_on_stack) noexcept;

// In a scope.
class ambient_scope {
public:
    explicit ambient_scope(cancel_context* c, bool lies_on_stack = true) noexcept
        : before_(exchange_ambient(c, lies_on_stack)) {}

    ~ambient_scope() { exchange_ambient(before_, false); }

    ambient_scope(const ambient_scope&) = delete;
    ambient_scope& operator=(const ambient_scope&) = delete;

private:
    cancel_context* before_;
};

}  // namespace weft::detail
