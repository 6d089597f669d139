// poll_one_darwin.cc: see poll_one.h. Rounds up to milliseconds: the system has no ppoll().
#include <poll.h>

#include <algorithm>
#include <cstdint>

#include "base/time_units.h"
#include "os/poll_one.h"

namespace weft::detail::os {

int poll_one(pollfd& one, int64_t timeout_ns) noexcept {
    const int64_t ms = std::min((timeout_ns + ns_per_ms - 1) / ns_per_ms, int64_t{INT32_MAX});
    return ::poll(&one, 1, static_cast<int>(ms));
}

}  // namespace weft::detail::os
