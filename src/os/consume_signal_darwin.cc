// consume_signal_darwin.cc: see sigpipe.h. The system has no sigtimedwait().
#include <csignal>

#include "os/sigpipe.h"

namespace weft::detail::os {

void consume_signal(const sigset_t& blocked) noexcept {
    sigset_t pending;
    if (sigpending(&pending) != 0 || sigismember(&pending, SIGPIPE) != 1) return;
    int signal = 0;
    sigwait(&blocked, &signal);  // a signal of this thread: no other can take it
}

}  // namespace weft::detail::os
