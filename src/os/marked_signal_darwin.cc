// marked_signal_darwin.cc: see marked_signal.h. The system says which process sent the signal, but
// not to which thread.
#include <pthread.h>
#include <unistd.h>

#include <csignal>

#include "os/marked_signal.h"
#include "os/thread_port_darwin.h"

namespace weft::detail::os {

bool send_marked(int tid, int signal, const void* /*mark*/) noexcept {
    const mach_port_t port = port_of_thread(tid);
    if (port == MACH_PORT_NULL) return false;
    const pthread_t thread = pthread_from_mach_thread_np(port);
    return thread != nullptr && pthread_kill(thread, signal) == 0;
}

bool has_mark(const void* info, const void* /*mark*/) noexcept {
    return static_cast<const siginfo_t*>(info)->si_pid == getpid();
}

}  // namespace weft::detail::os
