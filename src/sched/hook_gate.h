// hook_gate.h: whether a hook may be called, and on which Ms a call is open.
//
// Each M has a word with a bit for each hook whose in was called on it and whose out was not. Only
// these outs are called, so calls are balanced whenever hooks come and go:
//
//      M enters a G                                    remover
//      1  sets its bit                                 1  the gate is closing
//      2  gate not active: clears the bit,             2  waits until no M has the bit
//         else calls in                                3  the gate is vacant
//      3  the G leaves: calls out, clears the bit
//
// Steps 1 and 2 of both are seq_cst, so either step 2 of the M sees that the gate closes, or step 2
// of the remover sees the bit. So no in and no out is called after step 2 of the remover, and each
// in has its out.
//
// Rejected: a count of open calls in each gate: all Ms would write to it at each switch
// Rejected: calls of out by the remover: they belong to another thread
//
// Threads: enter, leave, has: the M's own. is_open: any. activate, close, vacate: under one lock.
// See:     test/model/hook_gate_model.cc
#pragma once

#include <cstdint>

#include "base/atomic.h"

namespace weft::detail {

// The bits of one M.
using open_hooks = atomic<uint32_t>;

// Whether a call of the hook with that bit is open on the M.
[[nodiscard]] inline bool has_open(const open_hooks& bits, uint32_t bit) noexcept {
    return (bits.load(relaxed_own) & bit) != 0;
}

// out was called.
inline void close_call(open_hooks& bits, uint32_t bit) noexcept {
    bits.fetch_and(~bit, release);  // pairs with is_open
}

// Whether a call of the hook is open on another M. After close().
[[nodiscard]] inline bool is_open(const open_hooks& bits, uint32_t bit) noexcept {
    return (bits.load(seq_cst) & bit) != 0;  // 2; pairs with close_call
}

class hook_gate {
public:
    // True: the call is open on the M, and what activate() has published may be called.
    [[nodiscard]] bool enter(open_hooks& bits, uint32_t bit) const noexcept {
        if (phase_.load(relaxed_hint) != active) return false;
        bits.fetch_or(bit, seq_cst);                      // 1
        if (phase_.load(seq_cst) == active) return true;  // 2
        close_call(bits, bit);
        return false;
    }

    // Publishes what the caller has written.
    void activate() noexcept { phase_.store(active, seq_cst); }  // pairs with enter

    void close() noexcept { phase_.store(closing, seq_cst); }  // 1

    void vacate() noexcept { phase_.store(vacant, relaxed_locked); }

    [[nodiscard]] bool is_vacant() const noexcept { return phase_.load(relaxed_locked) == vacant; }

private:
    static constexpr uint32_t vacant = 0;
    static constexpr uint32_t active = 1;
    static constexpr uint32_t closing = 2;

    atomic<uint32_t> phase_{vacant};
};

}  // namespace weft::detail
