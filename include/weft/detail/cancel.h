// cancel.h: the contexts around a piece of code, through which its waits are cancelled.
//
// A scope, an async call or a with_deadline puts a context around code. A context may be cancelled
// and may have a deadline. It lies in the frame (or shared state) of the code that opened it. Its
// parent is the context it was opened in, and lives longer, because code that opens a context waits
// for all that runs inside. So contexts form a tree. The innermost one is the *ambient* context of
// a green thread. Each green thread that starts in a context opens its own. So a context has at
// most one open wait, and waits of different green threads share no data.
//
//   wait     under the object's lock: enter_wait() records the wait in the ambient context;
//            leave_wait() when it is over
//   cancel   walks down the tree: marks each context and claims its open wait; then makes the
//            claimed waits ready, with no lock held
//
// Most contexts never see a wait or a cancellation. So a context is linked into its parent only on
// first demand (arm); until then it costs a few stores. A linked context has linked ancestors. One
// that is linked to a cancelled parent is cancelled from then on.
//
// std::stop_tokens agree with the waits. The cancelling thread stops the tokens after it has made
// the interrupted waits ready. An interrupted thread that comes first stops them itself
// (tell_tokens) before it throws.
//
// Deadlines need no tree. A context stores the earliest deadline of itself and those around it, and
// each wait arms one timer for that.
//
// Rejected: One list of waits per scope. All its green threads would take its lock at each wait.
// Rejected: A reference-counted tree like Go's context. It costs an allocation per scope, and
//           structured code does not need it.
// Rejected: A flag that waits poll.
//
// Invariants: C1. armed implies that the parent, if any, is armed.
//             C2. requested, once set, stays; a context linked under a requested one is requested.
//             C3. blocked_ is the open wait while it can be claimed; it is claimed under lock_ (L1
//                 of wait.h).
// Locks:      lock_ of a parent, then that of its child; both may be taken under an object's lock.
//             No lock is taken under lock_.
// Ordering:   R1 (armed) pairs with A1.
// Threads:    enter_wait, leave_wait, the destructor: the green thread that owns the context;
//             cancel, requested: any thread.
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

// Where a context is opened: in which context, and while how many exceptions unwind the stack.
// While an exception thrown inside a context unwinds, neither that context nor those around it
// interrupt waits. A context that a destructor opens then has no parent, and does interrupt waits.
struct enclosing {
    cancel_context* context = nullptr;
    int uncaught = 0;
};

// One wait, as recorded in the context around it. Lies in the waiting caller's frame.
struct cancel_wait {
    guarded<claim_word*> claim;
    guarded<G*> g;               // the waiter: a green thread, or if nullptr …
    guarded<thread_note*> note;  // … a plain thread
    guarded<cancel_wait*> next;  // in the chain of waits to make ready
};

class cancel_context {
public:
    // Opens a context in parent (nullptr: no parent) with its own deadline (never: no deadline).
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
        if ((parent_ != nullptr && armed_.load(relaxed)) || bridge_ != nullptr)  // relaxed: its armer has left
            end();
    }

    // The earliest deadline of this context and all around it; never: no deadline.
    [[nodiscard]] int64_t deadline_ns() const noexcept { return deadline_ns_; }

    // How many exceptions unwound the stack when it was opened.
    [[nodiscard]] int uncaught() const noexcept { return uncaught_; }

    // Ends all waits that are open in this context and in those inside it, and all later ones. Any
    // thread. O(contexts inside).
    void cancel() noexcept;

    // Cancels the outermost context around this one, for a runtime that stops. Called by the green
    // thread that owns this context.
    void cancel_all_around() noexcept;

    // Whether this context or one around it has been cancelled.
    [[nodiscard]] bool requested() noexcept;

    // Begins a wait, which may be claimed from now on. Returns false if the context is cancelled.
    [[nodiscard]] bool enter_wait(cancel_wait& w) noexcept;

    // Ends the wait: no other thread touches it after this. Also for a green thread that will never
    // run again.
    void leave_wait() noexcept;

    // Stops the tokens from this context outwards, as far as why affects them. why: how a wait in
    // it ended, or would end. Runs the tokens' callbacks. O(contexts around) once, then O(1).
    void tell_tokens(wait_result why) noexcept;

    // Detaches the context from its parent, which may then be destroyed first. Called by the green
    // thread that owns it, when it ends.
    void detach() noexcept;

    // Returns the object that turns cancellation into a std::stop_token. make creates it on first
    // use and may throw. It is not freed before this context.
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

// The ambient context of code that is not interrupted, whatever is around it. It has no parent and
// is never cancelled. Queries for contexts treat it as no context. Only its address is used.
[[nodiscard]] cancel_context* shield_context() noexcept;

// The same for a green thread without a context whose runtime stops with a deadline: its waits then
// take the path that checks for the deadline.
[[nodiscard]] cancel_context* stop_context() noexcept;

// Whether c is a real context: not nullptr and not one of the two above.
[[nodiscard]] bool is_context(const cancel_context* c) noexcept;

// The innermost context around the caller; nullptr if it has no context.
[[nodiscard]] cancel_context* ambient() noexcept;

// The caller's position, for a context that it is about to open.
[[nodiscard]] enclosing enclosing_context() noexcept;

// Makes c the caller's ambient context; lies_on_stack tells whether c lies on the caller's stack.
// Returns the previous ambient context.
cancel_context* exchange_ambient(cancel_context* c, bool lies_on_stack) noexcept;

// RAII form of exchange_ambient().
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
