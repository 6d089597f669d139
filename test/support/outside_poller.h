// outside_poller.h: creates the poller of plain threads, which lives as long as the process, before
// a test counts file descriptors.
#pragma once

#include <chrono>

#include <weft/wait_fd.h>

#include "os/fd_calls.h"
#include "os/sockets.h"

namespace weft::test {

// Requires: a plain thread, as in SetUpTestSuite.
inline void open_outside_poller() {
    const int never_ready = weft::detail::os::socket_make(AF_INET, SOCK_DGRAM, 0);
    if (never_ready < 0) return;
    static_cast<void>(wait_fd_for(never_ready, fd_events::readable, std::chrono::microseconds(1)));
    weft::detail::os::fd_close(never_ready);
}

}  // namespace weft::test
