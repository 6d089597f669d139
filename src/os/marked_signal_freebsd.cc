// marked_signal_freebsd.cc: see marked_signal.h. The system says that a thread of this process sent
// the signal to the thread, but not which code.
#include <sys/thr.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>

#include "os/marked_signal.h"

namespace weft::detail::os {

bool send_marked(int tid, int signal, const void* /*mark*/) noexcept { return thr_kill(tid, signal) == 0; }

bool has_mark(const void* info, const void* /*mark*/) noexcept {
    const auto* i = static_cast<const siginfo_t*>(info);
    return i->si_code == SI_LWP && i->si_pid == getpid();
}

}  // namespace weft::detail::os
