// process_calls_bsd.cc: processes: see process_calls.h.
#include <sys/event.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>

#include "os/never_inlined.h"
#include "os/process_calls.h"
#include "os/process_watch.h"

namespace weft::detail::os {

namespace {

#if defined(NOTE_EXITSTATUS)
constexpr unsigned end_and_status = NOTE_EXIT | NOTE_EXITSTATUS;
#else
constexpr unsigned end_and_status = NOTE_EXIT;
#endif

process_end end_of_status(int status) noexcept {
    if (WIFSIGNALED(status)) return {0, WTERMSIG(status), WCOREDUMP(status) != 0};
    return {WEXITSTATUS(status), 0, false};
}

struct kevent change_of(int ident, int16_t filter, uint16_t flags, unsigned filter_flags) noexcept {
    struct kevent e{};
    EV_SET(&e, static_cast<uintptr_t>(ident), filter, flags, filter_flags, 0, nullptr);
    return e;
}

// Returns how many events were fetched, or -1.
int fetch(int queue, struct kevent& e) noexcept {
    const timespec at_once{};
    return ::kevent(queue, nullptr, 0, &e, 1, &at_once);
}

}  // namespace

WEFT_OS_CALL int watch_process(int pid) noexcept {
    const int queue = or_errno(::kqueue());
    if (queue < 0) return queue;
    struct kevent e = change_of(pid, EVFILT_PROC, EV_ADD, end_and_status);
    if (::kevent(queue, &e, 1, nullptr, 0, nullptr) == 0) return queue;
    int error = errno;
    if (error == ESRCH) {
        // It has ended already. The queue becomes readable by an event of our own.
        e = change_of(0, EVFILT_USER, EV_ADD, 0);
        struct kevent trigger = change_of(0, EVFILT_USER, 0, NOTE_TRIGGER);
        if (::kevent(queue, &e, 1, nullptr, 0, nullptr) == 0 && ::kevent(queue, &trigger, 1, nullptr, 0, nullptr) == 0)
            return queue;
        error = errno;
    }
    ::close(queue);
    return -error;
}

bool can_set_up_programs() noexcept { return false; }

void limit_own_process(int cpu_seconds) noexcept {
    const int end = ::getdtablesize();
    for (int fd = 3; fd < end; ++fd) ::close(fd);
    const rlimit none{0, 0};
    const auto seconds = static_cast<rlim_t>(cpu_seconds);
    const rlimit time{seconds, seconds};
    static_cast<void>(::setrlimit(RLIMIT_CORE, &none));
    static_cast<void>(::setrlimit(RLIMIT_CPU, &time));
}

WEFT_OS_CALL int process_look(int /*fd*/, int pid, process_end& e) noexcept {
    siginfo_t info{};
    const int result = or_errno(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT));
    if (result < 0) return result;
    if (info.si_pid == 0) return -EAGAIN;
    const bool by_itself = info.si_code == CLD_EXITED;
    e = {by_itself ? info.si_status : 0, by_itself ? 0 : info.si_status, info.si_code == CLD_DUMPED};
    return 0;
}

// The event has the status, whatever has become of the process. It is given once.
WEFT_OS_CALL int process_recall(int fd, process_end& e) noexcept {
    struct kevent ended{};
    if (fetch(fd, ended) != 1 || ended.filter != EVFILT_PROC) return -ECHILD;
    e = end_of_status(static_cast<int>(ended.data));
    return 0;
}

WEFT_OS_CALL void process_reap(int /*fd*/, int pid) noexcept {
    while (::waitpid(pid, nullptr, WNOHANG) < 0 && errno == EINTR) {}
}

WEFT_OS_CALL int process_signal(int /*fd*/, int pid, int signal) noexcept { return or_errno(::kill(pid, signal)); }

WEFT_OS_CALL int group_signal(int /*fd*/, int leader, int signal) noexcept {
    return leader > 0 ? or_errno(::kill(-leader, signal)) : -ESRCH;
}

WEFT_OS_CALL int children_make() noexcept { return or_errno(::kqueue()); }

WEFT_OS_CALL int children_add(int children, int fd) noexcept {
    const struct kevent e = change_of(fd, EVFILT_READ, EV_ADD | EV_ONESHOT, 0);
    return or_errno(::kevent(children, &e, 1, nullptr, 0, nullptr));
}

WEFT_OS_CALL int children_next(int children) noexcept {
    struct kevent e{};
    return fetch(children, e) == 1 ? static_cast<int>(e.ident) : -1;
}

}  // namespace weft::detail::os
