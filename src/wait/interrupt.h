// interrupt.h: ways to end a wait other than by its object.
//
// See: weft/detail/wait.h, weft/detail/cancel.h
#pragma once

#include <cstdint>

#include <weft/detail/cancel.h>
#include <weft/detail/wait.h>

namespace weft::detail {

struct M;

// Readies g or, if it is nullptr, note's plain thread.
void ready_party(G* g, thread_note* note) noexcept;

// What may end a wait besides its queues.
struct other_parties {
    int64_t deadline_ns = never;
    cancel_context* context = nullptr;  // after enter_wait(cancelled) returned true
    cancel_wait* cancelled = nullptr;
};

// Blocks m's G, or the plain thread of mine, until a party claims the wait; returns the party. The
// count locks are held on entry and freed once parked. Afterwards neither deadline nor cancellation
// accesses the frame; the queues may (L4).
[[nodiscard]] uint32_t wait_claimed(M* m,
                                    waiter& first,
                                    const held_lock* locks,
                                    uint32_t count,
                                    wait_reason reason,
                                    const other_parties& others) noexcept;
[[nodiscard]] uint32_t thread_wait_claimed(
    thread_note& mine, claim_word& claim, const held_lock* locks, uint32_t count, const other_parties& others) noexcept;

// The context that a wait heeds. nullptr: none, or an exception thrown inside it unwinds the stack.
[[nodiscard]] cancel_context* heeded_context(M* m) noexcept;

// Whether m's runtime stops with a deadline and the caller is not shielded: stopping.h. nullptr: a
// plain thread.
[[nodiscard]] bool stop_reaches(const M* m) noexcept;

// After an interrupted wait in context; nullptr: the runtime stops.
void tell_tokens_of(cancel_context* context, wait_result why) noexcept;

// std::stop_token for contexts: stop_bridge.h.
void request_stop(stop_bridge& b) noexcept;  // b is known to be alive
stop_bridge* retain_in_chain(stop_bridge* b, stop_bridge* chain) noexcept;
void request_stops(stop_bridge* chain) noexcept;
void release_bridge(stop_bridge* b) noexcept;

}  // namespace weft::detail
