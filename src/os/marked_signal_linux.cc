// marked_signal_linux.cc: see marked_signal.h.
//
// rt_tgsigqueueinfo carries the mark. A filter may forbid it but not tgkill, which carries none.
// Then any signal that this process sends to one of its threads has every mark.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/atomic.h"
#include "os/marked_signal.h"

namespace weft::detail::os {

namespace {

// Set once. Relaxed: the signal whose handler reads it is sent later.
constinit atomic<bool> carries_no_mark{false};

}  // namespace

bool send_marked(int tid, int signal, const void* mark) noexcept {
    if (!carries_no_mark.load(relaxed)) {  // relaxed: see above
        siginfo_t info{};
        info.si_signo = signal;
        info.si_code = SI_QUEUE;
        info.si_pid = getpid();
        info.si_ptr = const_cast<void*>(mark);  // NOLINT: it is only compared
        if (syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, signal, &info) == 0) return true;
        if (errno != EPERM && errno != ENOSYS) return false;
        carries_no_mark.store(true, relaxed);  // relaxed: see above
    }
    return syscall(SYS_tgkill, getpid(), tid, signal) == 0;
}

bool has_mark(const void* info, const void* mark) noexcept {
    const auto* i = static_cast<const siginfo_t*>(info);
    if (i->si_pid != getpid()) return false;
    if (i->si_code == SI_QUEUE) return i->si_ptr == mark;
    return i->si_code == SI_TKILL && carries_no_mark.load(relaxed);  // relaxed: see above
}

}  // namespace weft::detail::os
