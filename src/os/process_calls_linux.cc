// process_calls_linux.cc: processes: see process_calls.h.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>

#include "os/never_inlined.h"
#include "os/process_calls.h"
#include "os/process_descriptor_linux.h"

namespace weft::detail::os {

namespace {

// Newer than some headers.
constexpr long call_pidfd_send_signal = 424;
constexpr unsigned to_group = 1U << 2;  // PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9

// PIDFD_GET_INFO, Linux 6.13, which reports the end since 6.15.
struct descriptor_info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t ids[11];
    int32_t status;
};

static_assert(sizeof(descriptor_info) == 64);
constexpr uint64_t info_of_end = 1U << 3;
constexpr unsigned long get_info = _IOWR(0xFF, 11, descriptor_info);

process_end end_of_status(int status) noexcept {
    if (WIFSIGNALED(status)) return {0, WTERMSIG(status), WCOREDUMP(status) != 0};
    return {WEXITSTATUS(status), 0, false};
}

[[gnu::always_inline]] inline int wait_for_child(int fd, int pid, siginfo_t& info, int how) noexcept {
    const idtype_t by = fd >= 0 ? wait_by_descriptor : P_PID;
    return or_errno(::waitid(by, static_cast<id_t>(fd >= 0 ? fd : pid), &info, WEXITED | WNOHANG | how));
}

}  // namespace

bool can_set_up_programs() noexcept { return true; }

void limit_own_process(int cpu_seconds) noexcept {
    constexpr long call_close_range = 436;  // Linux 5.9
    static_cast<void>(::syscall(call_close_range, 3U, ~0U, 0));
    const rlimit none{0, 0};
    const auto seconds = static_cast<rlim_t>(cpu_seconds);
    const rlimit time{seconds, seconds};
    static_cast<void>(::setrlimit(RLIMIT_CORE, &none));
    static_cast<void>(::setrlimit(RLIMIT_CPU, &time));
    const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    constexpr char first[] = "1000";
    static_cast<void>(::write(fd, first, sizeof(first) - 1) < 0);
    ::close(fd);
}

WEFT_OS_CALL int process_look(int fd, int pid, process_end& e) noexcept {
    siginfo_t info{};
    const int result = wait_for_child(fd, pid, info, WNOWAIT);
    if (result < 0) return result;
    if (info.si_pid == 0) return -EAGAIN;
    const bool by_itself = info.si_code == CLD_EXITED;
    e = {by_itself ? info.si_status : 0, by_itself ? 0 : info.si_status, info.si_code == CLD_DUMPED};
    return 0;
}

namespace {

int read_end(int fd, descriptor_info& info) noexcept {
    info = {};
    info.mask = info_of_end;
    return or_errno(::ioctl(fd, get_info, &info));
}

}  // namespace

WEFT_OS_CALL int process_recall(int fd, process_end& e) noexcept {
    descriptor_info info{};
    int result = read_end(fd, info);
    // The system reads the status before the process. If the process is forgotten in between, only
    // a second call finds the status.
    if (result == -ESRCH) result = read_end(fd, info);
    if (result < 0) return result;
    if ((info.mask & info_of_end) == 0) {
        pollfd ended{fd, POLLIN, 0};
        return ::poll(&ended, 1, 0) == 1 ? -EBUSY : -ECHILD;
    }
    e = end_of_status(info.status);
    return 0;
}

WEFT_OS_CALL void process_reap(int fd, int pid) noexcept {
    siginfo_t info{};
    static_cast<void>(wait_for_child(fd, pid, info, 0));  // fails if another caller was faster
}

WEFT_OS_CALL int process_signal(int fd, int pid, int signal) noexcept {
    if (fd < 0) return or_errno(::kill(pid, signal));
    return static_cast<int>(or_errno(::syscall(call_pidfd_send_signal, fd, signal, nullptr, 0)));
}

WEFT_OS_CALL int group_signal(int fd, int leader, int signal) noexcept {
    if (fd >= 0) {
        const auto result =
            static_cast<int>(or_errno(::syscall(call_pidfd_send_signal, fd, signal, nullptr, to_group)));
        if (result != -EINVAL && result != -ENOSYS && result != -EPERM) return result;
        // A filter refuses it, or the group is another user's; then kill() is refused, too.
        if (result == -EPERM && leader <= 0) return result;
    }
    return leader > 0 ? or_errno(::kill(-leader, signal)) : -ESRCH;
}

WEFT_OS_CALL int children_make() noexcept { return or_errno(::epoll_create1(EPOLL_CLOEXEC)); }

WEFT_OS_CALL int children_add(int children, int fd) noexcept {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.fd = fd;
    return or_errno(::epoll_ctl(children, EPOLL_CTL_ADD, fd, &event));
}

WEFT_OS_CALL int children_next(int children) noexcept {
    epoll_event event{};
    return ::epoll_wait(children, &event, 1, 0) == 1 ? event.data.fd : -1;
}

}  // namespace weft::detail::os
