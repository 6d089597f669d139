// interrupt.h: the ways in which a wait ends other than by its object: what wait.cc, select.cc, sleep.cc and cancel.cc share.
//
// See: weft/detail/wait.h, weft/detail/cancel.h
#pragma once

#include <cstdint>

#include <weft/detail/cancel.h>
#include <weft/detail/wait.h>

namespace weft::detail {

struct M;

// Makes ready a green thread, or if that is nullptr a plain one.
void ready_party(G* g, thread_note* note) noexcept;

// What may end the wait of a caller that is linked into its queues, besides these. Its claim word is in the caller's frame.
struct other_parties {
    int64_t deadline_ns = never;
    cancel_context* context = nullptr;  // enter_wait() was true with cancelled
    cancel_wait* cancelled = nullptr;
};

// Parks the current green thread, which is m's, or blocks the plain thread that has mine, until one party has claimed the wait;
// tells which. first is the first of the waiters. The count locks are held on entry, and freed when it is parked. When it
// returns, neither deadline nor cancellation will touch the frame; the queues may (L4).
[[nodiscard]] uint32_t wait_claimed(M* m,
                                    waiter& first,
                                    const held_lock* locks,
                                    uint32_t count,
                                    wait_reason reason,
                                    const other_parties& others) noexcept;
[[nodiscard]] uint32_t thread_wait_claimed(
    thread_note& mine, claim_word& claim, const held_lock* locks, uint32_t count, const other_parties& others) noexcept;

// What the current wait has to heed of the contexts around it: nullptr if there is none, or while an exception that was thrown
// inside it unwinds the stack.
[[nodiscard]] cancel_context* heeded_context(M* m) noexcept;

// Whether the runtime of m (nullptr: a plain thread's) stops with a deadline, and its G, which is the caller, is not shielded: stopping.h.
[[nodiscard]] bool stop_reaches(const M* m) noexcept;

// A wait in context (nullptr: in none, it was the runtime that stops) was interrupted: cancel_context::tell_tokens.
void tell_tokens_of(cancel_context* context, wait_result why) noexcept;

// std::stop_token from contexts.
void request_stop(stop_bridge& b) noexcept;  // the caller knows that it lives
stop_bridge* retain_in_chain(stop_bridge* b, stop_bridge* chain) noexcept;
void request_stops(stop_bridge* chain) noexcept;
void release_bridge(stop_bridge* b) noexcept;

}  // namespace weft::detail
