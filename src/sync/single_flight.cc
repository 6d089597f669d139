// single_flight.cc: waiting for another caller's call; see weft/single_flight.h.
#include <weft/single_flight.h>

#include "base/abandoned.h"
#include "base/assert.h"

namespace weft::detail {

void flight::wait() {
    if (caller_ == current_owner().who) {
        fatal(
            "weft::single_flight::do_ was called by the function that it runs for the same key; remove the recursion");
    }
    const uint32_t bits = state_.lock_bits();
    if ((bits & landed) != 0) {
        state_.unlock_bits(bits);
        return;
    }
    waiter me;
    const wait_result result =
        wait_cancellable(state_, {.me = me, .queue = waiters_, .bits = bits, .reason = wait_reason::single_flight});
    if (result != wait_result::served) throw_interrupted(result);
}

void flight::land() noexcept {
    state_.lock_bits();
    waiter* chain = waiters_.pop_all_claimed();
    state_.unlock_bits(landed);
    ready_all(chain);
}

void check_flights_destroyed(std::size_t flights) noexcept {
    if (abandoned::may_be(true)) return;
    fatal("a weft::single_flight was destroyed while %zu of its calls were running; let them return first", flights);
}

}  // namespace weft::detail
