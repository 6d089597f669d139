// cancel.cc: cancellable contexts; the protocol is in weft/detail/cancel.h.
#include <weft/detail/cancel.h>
#include <weft/detail/step.h>

#include "base/assert.h"
#include "wait/interrupt.h"

namespace weft::detail {

// The results of a walk down the tree, for use without locks.
struct cancel_context::harvest {
    cancel_wait* waits = nullptr;
    stop_bridge* bridges = nullptr;
};

// Requires: lock_ is held.
void cancel_context::mark(harvest& h) noexcept {
    requested_ = true;
    if (cancel_wait* w = blocked_) {
        bool must_ready = false;
        // Otherwise do not touch w: another party has won (L2), or its park notices the claim.
        if (w->claim->try_claim(claimed_by::cancellation, must_ready) && must_ready) {
            w->next = h.waits;
            h.waits = w;
        }
        blocked_ = nullptr;
    }
    if (stop_bridge* b = bridge_) h.bridges = retain_in_chain(b, h.bridges);
}

// Depth first. The contexts from this one down to the visited one are locked. So it stays alive,
// and no descendant is missed.
void cancel_context::cancel() noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {  // a lock per level of the tree
    step(operation::cancel, this);
    harvest found;
    lock_.lock();
    if (!requested_) {
        mark(found);
        cancel_context* at = this;
        for (cancel_context* next = first_child_;;) {
            if (next != nullptr) {
                next->lock_.lock();
                if (next->requested_) {
                    // Another cancel() handles the subtree.
                    cancel_context* sibling = next->next_;
                    next->lock_.unlock();
                    next = sibling;
                } else {
                    next->mark(found);
                    at = next;
                    next = at->first_child_;
                }
                continue;
            }
            if (at == this) break;
            cancel_context* done = at;
            at = done->parent_;
            next = done->next_;
            done->lock_.unlock();
        }
    }
    lock_.unlock();
    while (found.waits != nullptr) {
        cancel_wait* w = found.waits;
        found.waits = w->next;
        ready_party(w->g, w->note);
    }
    request_stops(found.bridges);
}

void cancel_context::cancel_all_around() noexcept {
    cancel_context* outermost = this;
    while (outermost->parent_ != nullptr) outermost = outermost->parent_;
    outermost->cancel();
}

bool cancel_context::requested() noexcept {
    arm();
    lock_.lock();
    const bool yes = requested_;
    lock_.unlock();
    return yes;
}

bool cancel_context::enter_wait(cancel_wait& w) noexcept {
    arm();
    lock_.lock();
    const bool open = !requested_;
    if (open) blocked_ = &w;
    lock_.unlock();
    return open;
}

void cancel_context::leave_wait() noexcept {
    lock_.lock();
    blocked_ = nullptr;
    lock_.unlock();
}

// Walks outwards while the interruption is the same (cancelled, or an equal deadline) and was not
// told before.
void cancel_context::tell_tokens(wait_result why) noexcept {
    const bool is_cancelled = why == wait_result::cancelled;
    cancel_context* beyond = this;
    for (; beyond != nullptr; beyond = beyond->parent_) {
        beyond->lock_.lock();
        const bool concerned = is_cancelled ? beyond->requested_ && !beyond->told_cancelled_
                                            : beyond->deadline_ns_ == deadline_ns_ && !beyond->told_expired_;
        stop_bridge* b = beyond->bridge_;  // lives as long as its context, which outlives this one
        beyond->lock_.unlock();
        if (!concerned) break;
        if (b != nullptr) request_stop(*b);
    }
    for (cancel_context* c = this; c != beyond; c = c->parent_) {
        c->lock_.lock();
        (is_cancelled ? c->told_cancelled_ : c->told_expired_) = true;
        c->lock_.unlock();
    }
}

stop_bridge& cancel_context::bridge(stop_bridge* (*make)(int64_t deadline_ns)) {
    arm();
    lock_.lock();
    stop_bridge* b = bridge_;
    lock_.unlock();
    if (b != nullptr) return *b;  // only the context's green thread makes one
    b = make(deadline_ns_);
    lock_.lock();
    bridge_ = b;
    const bool late = requested_;
    lock_.unlock();
    if (late) request_stops(retain_in_chain(b, nullptr));
    return *b;
}

// Links outermost contexts first (C1).
void cancel_context::arm() noexcept {
    constexpr unsigned most = 64;
    while (!armed_.load(acquire)) {  // A1
        cancel_context* path[most];
        unsigned length = 0;
        for (cancel_context* c = this; !c->armed_.load(acquire); c = c->parent_) path[length++ % most] = c;  // A1
        for (unsigned i = 1; i <= std::min(length, most); ++i) path[(length - i) % most]->link_to_parent();
    }
}

// Requires: the parent is armed.
void cancel_context::link_to_parent() noexcept {
    cancel_context& p = *parent_;
    p.lock_.lock();
    if (!armed_.load(relaxed_locked)) {
        lock_.lock();
        if (p.requested_) requested_ = true;  // C2
        lock_.unlock();
        prev_ = nullptr;
        next_ = p.first_child_;
        if (cancel_context* c = p.first_child_) c->prev_ = this;
        p.first_child_ = this;
        armed_.store(true, release);  // R1
    }
    p.lock_.unlock();
}

void cancel_context::unlink_from_parent() noexcept {
    cancel_context& p = *parent_;
    p.lock_.lock();
    if (prev_ != nullptr) {
        prev_->next_ = next_;
    } else {
        p.first_child_ = next_;
    }
    if (next_ != nullptr) next_->prev_ = prev_;
    p.lock_.unlock();
}

void cancel_context::detach() noexcept {
    if (parent_ == nullptr) return;
    if (armed_.load(relaxed)) unlink_from_parent();  // relaxed: the thread that armed it has left
    parent_ = nullptr;
    armed_.store(true, release);  // R1
}

void cancel_context::end() noexcept {
    detach();
    WEFT_ASSERT(first_child_ == nullptr);
    if (stop_bridge* b = bridge_) release_bridge(b);
}

}  // namespace weft::detail
