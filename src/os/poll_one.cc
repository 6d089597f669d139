// poll_one.cc: see poll_one.h.
#include "os/poll_one.h"

#include <poll.h>

#include <ctime>

namespace weft::detail::os {

int poll_one(pollfd& one, int64_t timeout_ns) noexcept {
    constexpr int64_t ns_per_s = 1'000'000'000;
    const timespec timeout{timeout_ns / ns_per_s, timeout_ns % ns_per_s};
    return ::ppoll(&one, 1, &timeout, nullptr);
}

}  // namespace weft::detail::os
