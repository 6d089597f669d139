// once.cc: the slow paths of weft::once_flag; see weft/once.h.
//
// A failed call wakes all waiters: failures are rare, and an abandoned waiter has nothing to pass
// on.
#include <weft/detail/owner.h>
#include <weft/once.h>

#include "base/abandoned.h"
#include "base/assert.h"

namespace weft {

bool once_flag::begin() noexcept {
    using namespace detail;
    const owner me = current_owner();
    for (;;) {
        const uint32_t bits = state_.lock_bits();
        if ((bits & running) == 0) {
            const bool first = (bits & done) == 0;
            if (first) caller_ = me.who;
            state_.unlock_bits(first ? running : bits);
            return first;
        }
        if (caller_ == me.who) {
            fatal(
                "weft::call_once was called by the function that it runs, which would wait for itself; remove the "
                "recursion");
        }
        waiter w;
        wait(state_, {.me = w, .queue = waiters_, .bits = bits, .reason = wait_reason::once});
    }
}

void once_flag::end(bool succeeded) noexcept {
    using namespace detail;
    state_.lock_bits();
    waiter* chain = waiters_.pop_all_claimed();
    state_.unlock_bits(succeeded ? done : 0);  // R1; the last access
    ready_all(chain);
}

void once_flag::destroyed_in_use() noexcept {
    using namespace detail;
    const uint32_t bits = state_.lock_bits();
    if (!abandoned::may_be(!waiters_.empty())) {
        fatal(
            "a weft::once_flag was destroyed while weft::call_once ran a function with it; let the call return first");
    }
    waiters_.forget_all();
    state_.unlock_bits(bits);
}

}  // namespace weft
