// restarted.h: system calls that continue after a signal.
#pragma once

#include <cerrno>

#include "os/never_inlined.h"

namespace weft::detail::os {

template <typename F>
[[gnu::always_inline]] inline auto restarted(F f) noexcept {
    for (;;) {
        const auto result = or_errno(f());
        if (result != -EINTR) return result;
    }
}

}  // namespace weft::detail::os
