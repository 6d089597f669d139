// event.cc: the slow paths of the event; see weft/event.h.
#include <weft/event.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "wait/wake_list.h"

namespace weft {

using detail::event_core;

void event::check_destroyed() noexcept {
    const uint32_t bits = core_.word.lock_bits();
    if (!core_.waiters.empty() && !detail::abandoned::may_be(true)) {
        detail::fatal("a weft::event was destroyed while a thread waited for it; let its waiters return first");
    }
    core_.waiters.forget_all();
    core_.word.unlock_bits(bits & ~event_core::waiting);
}

void event::set_slow() noexcept {
    core_.word.lock_bits();
    detail::wake_list woken;
    while (detail::waiter* w = core_.waiters.pop_claimed()) {
        w->ok = true;
        woken.add(*w);
    }
    core_.word.unlock_bits(event_core::set);  // R1; I3
    woken.wake();
}

void event::reset_slow() noexcept {
    const uint32_t bits = core_.word.lock_bits();  // A1
    core_.word.unlock_bits(bits & ~event_core::set);
}

bool event::wait_until_ns(int64_t deadline_ns) {
    using detail::wait_result;
    const uint32_t bits = core_.word.lock_bits();  // A1
    if ((bits & event_core::set) != 0) {
        core_.word.unlock_bits(bits);
        return true;
    }
    detail::waiter me;
    const wait_result result = detail::wait_cancellable(core_.word, {.me = me,
                                                                     .queue = core_.waiters,
                                                                     .bits = bits | event_core::waiting,
                                                                     .reason = detail::wait_reason::event_wait,
                                                                     .deadline_ns = deadline_ns});
    if (result == wait_result::cancelled || result == wait_result::expired) detail::throw_interrupted(result);
    return result == wait_result::served;
}

}  // namespace weft
