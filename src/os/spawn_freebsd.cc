// spawn_freebsd.cc: starts a program: process_spawn of process_calls.h.
//
// By vfork(): the child shares the memory of this process, and the calling thread sleeps until the
// child has executed its program. The steps S1, S3 and S4 are those of spawn_linux.cc. The child
// runs on the caller's stack below the frame of vfork(), which the parent has not left.
//
// Rejected: posix_spawn: it cannot make a session.
//
// Threads: any thread. See: docs/processes.md
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "os/never_inlined.h"
#include "os/process_calls.h"
#include "os/process_watch.h"
#include "os/spawn_child.h"

extern char** environ;  // NOLINT: POSIX has it in no header

namespace weft::detail::os {

namespace {

constexpr int signals_end = 129;

// System calls: the functions of the thread library would change this process.
struct child_calls {
    WEFT_IN_CHILD static long duplicate(int fd, int number) noexcept { return child_call(SYS_dup2, fd, number); }

    // Not called: can_set_up_programs() is false.
    WEFT_IN_CHILD static long keep_descriptors(const program_set_up& /*s*/) noexcept { return -ENOTSUP; }

    WEFT_IN_CHILD static long place_descriptors(const program_set_up& /*s*/) noexcept { return -ENOTSUP; }

    WEFT_IN_CHILD static long set_rights(const program_set_up& /*s*/) noexcept { return -ENOTSUP; }

    // The call fails for SIGKILL and SIGSTOP, which need no reset.
    WEFT_IN_CHILD static void reset_signals() noexcept {
        struct sigaction default_action;
        default_action.sa_handler = SIG_DFL;
        default_action.sa_flags = 0;
        for (unsigned& word : default_action.sa_mask.__bits) word = 0;
        for (int signal = 1; signal < signals_end; ++signal)
            child_call(SYS_sigaction, signal, &default_action, nullptr);
        child_call(SYS_sigprocmask, SIG_SETMASK, &default_action.sa_mask, nullptr);
    }
};

// S1 and S4. A system call: pthread_sigmask would leave out the thread library's own signal.
class all_signals_blocked {
public:
    all_signals_blocked() noexcept {
        sigset_t all;
        sigfillset(&all);
        ::syscall(SYS_sigprocmask, SIG_SETMASK, &all, &before_);
    }

    ~all_signals_blocked() { ::syscall(SYS_sigprocmask, SIG_SETMASK, &before_, nullptr); }

    all_signals_blocked(const all_signals_blocked&) = delete;
    all_signals_blocked& operator=(const all_signals_blocked&) = delete;

private:
    sigset_t before_{};
};

WEFT_IN_CHILD void run_child(child_plan& plan) noexcept {
    plan.error = static_cast<int>(-begin_program<child_calls>(plan));
    for (;;) child_call(SYS_exit, exit_without_program);
}

#pragma clang diagnostic ignored "-Wdeprecated-declarations"

// S2. Returns the child's number, or minus errno's value. Never inlined: it returns twice.
WEFT_OS_CALL WEFT_IN_CHILD int start_child(child_plan& plan) noexcept {
    const int pid = ::vfork();
    if (pid == 0) run_child(plan);
    return pid >= 0 ? pid : -errno;
}

// S3 of process_spawn_apart.
WEFT_IN_CHILD void run_child_between(child_plan& plan) noexcept {
    const int second = start_child(plan);
    if (second < 0) plan.error = -second;
    for (;;) child_call(SYS_exit, 0);
}

WEFT_OS_CALL WEFT_IN_CHILD int start_child_between(child_plan& plan) noexcept {
    const int pid = ::vfork();
    if (pid == 0) run_child_between(plan);
    return pid >= 0 ? pid : -errno;
}

void reap(int pid) noexcept {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {}
}

}  // namespace

WEFT_OS_CALL int process_spawn(const spawn_request& r, int& pid, int& descriptor) noexcept {
    const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): as exec does
    child_plan plan{.request = &r,
                    .environment = r.environment != nullptr ? r.environment : environ,
                    .path = path != nullptr ? path : "/bin:/usr/bin"};
    int started = 0;
    {
        const all_signals_blocked quiet;
        started = start_child(plan);
    }
    if (started < 0) return started;
    if (plan.error != 0) {
        reap(started);
        return -plan.error;
    }
    pid = started;
    descriptor = watch_process(started);
    if (descriptor < 0) descriptor = -1;
    return 0;
}

WEFT_OS_CALL int process_spawn_apart(const spawn_request& r) noexcept {
    child_plan plan{.request = &r, .environment = r.environment, .path = "/bin:/usr/bin"};
    int between = 0;
    {
        const all_signals_blocked quiet;
        between = start_child_between(plan);
    }
    if (between < 0) return between;
    reap(between);
    return -plan.error;
}

}  // namespace weft::detail::os
