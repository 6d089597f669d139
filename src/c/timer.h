// timer.h: the type behind run_timer_t.
//
// See: weft/run/time.h, weft/timer.h
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include <weft/run/time.h>
#include <weft/timer.h>

struct run_timer {
    // Requires: t is the handle of s.
    run_timer(weft::timer&& t, weft::detail::timer_state& s)
        : state(s), timer(std::move(t)), chan(timer.chan()), ticks(weft::detail::chan_access::state(chan)) {}

    weft::detail::timer_state& state;
    weft::timer timer;
    weft::recv_chan<weft::detail::tick> chan;
    weft::detail::chan_state<weft::detail::tick>* ticks;  // nullptr: the timer calls a function
};

namespace weft::detail {

inline int64_t ns_of(tick t) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

}  // namespace weft::detail
