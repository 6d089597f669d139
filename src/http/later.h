// later.h: a time from now, for limits of any length.
#pragma once

#include <chrono>

namespace weft::http::detail {

// from + by, or the last time there is: nanoseconds::max() as a limit means none. from is after the
// clock's start.
[[nodiscard]] constexpr std::chrono::steady_clock::time_point later(std::chrono::steady_clock::time_point from,
                                                                    std::chrono::nanoseconds by) noexcept {
    using time_point = std::chrono::steady_clock::time_point;
    return by > time_point::max() - from ? time_point::max() : from + by;
}

}  // namespace weft::http::detail
