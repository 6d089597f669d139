// consume_signal.cc: see sigpipe.h.
#include <cerrno>
#include <csignal>
#include <ctime>

#include "os/sigpipe.h"

namespace weft::detail::os {

void consume_signal(const sigset_t& blocked) noexcept {
    constexpr timespec at_once{};
    while (sigtimedwait(&blocked, nullptr, &at_once) < 0 && errno == EINTR) {}
}

}  // namespace weft::detail::os
