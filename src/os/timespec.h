// timespec.h: nanoseconds as system calls take them.
#pragma once

#include <cstdint>
#include <ctime>

#include "base/time_units.h"

namespace weft::detail::os {

[[nodiscard]] constexpr timespec to_timespec(int64_t ns) noexcept {
    timespec t{};
    t.tv_sec = ns / ns_per_s;
    t.tv_nsec = static_cast<decltype(t.tv_nsec)>(ns % ns_per_s);
    return t;
}

}  // namespace weft::detail::os
