// poll_one.cc: see poll_one.h.
#include "os/poll_one.h"

#include <poll.h>

#include <ctime>

#include "os/timespec.h"

namespace weft::detail::os {

int poll_one(pollfd& one, int64_t timeout_ns) noexcept {
    const timespec timeout = to_timespec(timeout_ns);
    return ::ppoll(&one, 1, &timeout, nullptr);
}

}  // namespace weft::detail::os
