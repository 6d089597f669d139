// marked_signal_linux.cc: see marked_signal.h.
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "os/marked_signal.h"

namespace weft::detail::os {

bool send_marked(int tid, int signal, const void* mark) noexcept {
    siginfo_t info{};
    info.si_signo = signal;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_ptr = const_cast<void*>(mark);  // NOLINT: it is only compared
    return syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, signal, &info) == 0;
}

bool has_mark(const void* info, const void* mark) noexcept {
    const auto* i = static_cast<const siginfo_t*>(info);
    return i->si_code == SI_QUEUE && i->si_pid == getpid() && i->si_ptr == mark;
}

}  // namespace weft::detail::os
