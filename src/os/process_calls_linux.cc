// process_calls_linux.cc: see process_calls.h.
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <initializer_list>

#include "base/atomic.h"
#include "os/never_inlined.h"
#include "os/os.h"
#include "os/process_calls.h"
#include "os/sigpipe.h"

extern char** environ;  // NOLINT: POSIX has it in no header

namespace weft::detail::os {

namespace {

// Newer than some headers; the same for all processors.
constexpr long call_pidfd_send_signal = 424;
constexpr long call_pidfd_open = 434;
constexpr auto wait_by_descriptor = static_cast<idtype_t>(3);  // P_PIDFD
constexpr int write_without_signal = 0x100;                    // RWF_NOSIGNAL, Linux 6.18

// PIDFD_GET_INFO, Linux 6.13, which tells of the end since 6.15.
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

// To a number from 3 on.
int out_of_the_way(int fd) noexcept {
    if (fd > 2) return fd;
    const int moved = or_errno(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    ::close(fd);
    return moved;
}

// A file action, or an attribute, whose functions return errno's value.
class spawn_setup {
public:
    spawn_setup() noexcept {
        posix_spawn_file_actions_init(&actions_);
        posix_spawnattr_init(&attributes_);
    }

    ~spawn_setup() {
        posix_spawn_file_actions_destroy(&actions_);
        posix_spawnattr_destroy(&attributes_);
    }

    spawn_setup(const spawn_setup&) = delete;
    spawn_setup& operator=(const spawn_setup&) = delete;

    [[nodiscard]] int prepare(const spawn_request& r) noexcept {
        for (int i = 0; i < 3; ++i) {
            if (const int error = set_standard(i, r.standard[i])) return error;
        }
        if (r.directory != nullptr) {
            if (const int error = set_directory(r.directory)) return error;
        }
        return set_signals();
    }

    [[nodiscard]] int start(const spawn_request& r, int& pid) noexcept {
        char* const* environment = r.environment != nullptr ? r.environment : environ;
        return posix_spawnp(&pid, r.arguments[0], &actions_, &attributes_, r.arguments, environment);
    }

private:
    int set_standard(int number, int fd) noexcept {
        if (fd == std_inherited) return 0;
        if (fd != std_null) return posix_spawn_file_actions_adddup2(&actions_, fd, number);
        return posix_spawn_file_actions_addopen(&actions_, number, "/dev/null", O_RDWR, 0);
    }

    int set_directory(const char* directory) noexcept {
#if defined(__GLIBC__)
#if !__GLIBC_PREREQ(2, 29)
#define WEFT_NO_SPAWN_CHDIR 1
#endif
#endif
#if defined(WEFT_NO_SPAWN_CHDIR)
        static_cast<void>(directory);
        return ENOSYS;
#else
        return posix_spawn_file_actions_addchdir_np(&actions_, directory);
#endif
    }

    int set_signals() noexcept {
        sigset_t none;
        sigset_t all;
        sigemptyset(&none);
        sigfillset(&all);
        for (const int fixed : {SIGKILL, SIGSTOP}) sigdelset(&all, fixed);
        posix_spawnattr_setsigmask(&attributes_, &none);
        posix_spawnattr_setsigdefault(&attributes_, &all);
        return posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }

    posix_spawn_file_actions_t actions_;
    posix_spawnattr_t attributes_;
};

[[gnu::always_inline]] inline int wait_for_child(int fd, int pid, siginfo_t& info, int how) noexcept {
    const idtype_t by = fd >= 0 ? wait_by_descriptor : P_PID;
    return or_errno(::waitid(by, static_cast<id_t>(fd >= 0 ? fd : pid), &info, WEXITED | WNOHANG | how));
}

}  // namespace

WEFT_OS_CALL int pipe_make(int& read_end, int& write_end) noexcept {
    int ends[2];
    const int result = or_errno(::pipe2(ends, O_CLOEXEC));
    if (result < 0) return result;
    read_end = out_of_the_way(ends[0]);
    write_end = out_of_the_way(ends[1]);
    if (read_end >= 0 && write_end >= 0) return 0;
    const int error = read_end < 0 ? read_end : write_end;
    if (read_end >= 0) ::close(read_end);
    if (write_end >= 0) ::close(write_end);
    return error;
}

WEFT_OS_CALL ssize_t pipe_read(int fd, void* into, std::size_t size) noexcept {
    return or_errno(::read(fd, into, size));
}

WEFT_OS_CALL ssize_t pipe_write(int fd, const void* from, std::size_t size) noexcept {
    static constinit atomic<bool> knows_flag{true};
    if (knows_flag.load(relaxed)) {  // relaxed: whoever finds it out late asks once more
        const iovec all{const_cast<void*>(from), size};
        const ssize_t written = or_errno(::pwritev2(fd, &all, 1, -1, write_without_signal));
        if (written != -EOPNOTSUPP && written != -EINVAL && written != -ENOSYS) return written;
        knows_flag.store(false, relaxed);  // relaxed: as above
    }
    const sigpipe_held_back signal;
    const ssize_t written = or_errno(::write(fd, from, size));
    if (written == -EPIPE) signal.take();
    return written;
}

namespace {

// While one exists, the calling thread has the timers and slices of any thread, as a program that it starts inherits them.
class as_any_thread {
public:
    as_any_thread() noexcept
        : precise_(timeout_slack_ns() == precise_timeouts), tid_(current_tid()), short_(wants_short_slices(tid_)) {
        constexpr int usual_slack_ns = 50'000;
        if (precise_) set_timeout_slack_ns(usual_slack_ns);
        if (short_) want_short_slices(tid_, false);
    }

    ~as_any_thread() {
        if (precise_) set_timeout_slack_ns(precise_timeouts);
        if (short_) want_short_slices(tid_, true);
    }

    as_any_thread(const as_any_thread&) = delete;
    as_any_thread& operator=(const as_any_thread&) = delete;

private:
    bool precise_;
    int tid_;
    bool short_;
};

}  // namespace

WEFT_OS_CALL int process_spawn(const spawn_request& r, int& pid) noexcept {
    spawn_setup setup;
    if (const int error = setup.prepare(r)) return -error;
    const as_any_thread inherited;
    return -setup.start(r, pid);
}

WEFT_OS_CALL int process_open(int pid) noexcept {
    return static_cast<int>(or_errno(::syscall(call_pidfd_open, pid, 0)));
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

WEFT_OS_CALL int process_recall(int fd, process_end& e) noexcept {
    descriptor_info info{};
    info.mask = info_of_end;
    const int result = or_errno(::ioctl(fd, get_info, &info));
    if (result < 0) return result;
    if ((info.mask & info_of_end) == 0) return -ECHILD;
    e = end_of_status(info.status);
    return 0;
}

WEFT_OS_CALL void process_reap(int fd, int pid) noexcept {
    siginfo_t info{};
    static_cast<void>(wait_for_child(fd, pid, info, 0));  // somebody was faster: as good
}

WEFT_OS_CALL int process_signal(int fd, int pid, int signal) noexcept {
    if (fd < 0) return or_errno(::kill(pid, signal));
    return static_cast<int>(or_errno(::syscall(call_pidfd_send_signal, fd, signal, nullptr, 0)));
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
