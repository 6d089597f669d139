// outside_poller.h: creates the poller of plain threads, which lives as long as the process, before
// a test counts file descriptors.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <chrono>

#include <weft/wait_fd.h>

namespace weft::test {

// Requires: a plain thread, as in SetUpTestSuite.
inline void open_outside_poller() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    static_cast<void>(wait_fd_for(ends[0], fd_events::readable, std::chrono::microseconds(1)));
    ::close(ends[0]);
    ::close(ends[1]);
}

}  // namespace weft::test
