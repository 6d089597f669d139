// cpu_sampling_linux.cc: see cpu_sampling.h.
//
// System calls are made directly: not every C library has SIGEV_THREAD_ID, or accepts the clock of
// another thread.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/atomic.h"
#include "os/cpu_sampling.h"
#include "os/interrupt_signal.h"
#include "os/os.h"
#include "os/signals.h"
#include "os/stay_loaded.h"
#include "os/thread_cpu_clock_linux.h"
#include "os/timespec.h"

namespace weft::detail::os {

namespace {

using sample_hook = void (*)(const fault&, uint32_t) noexcept;

// Its address marks the signals of our timers.
constinit atomic<sample_hook> hook_now{nullptr};
constinit atomic<uint32_t> in_hook{0};  // threads that may call it

// The kernel's layout.
struct kernel_event {
    void* value;
    int signal;
    int notify;
    int tid;
    int unused[11];
};

static_assert(sizeof(kernel_event) == 64);

// The start of a file about a thread. Returns false if it cannot be read.
template <std::size_t Size>
bool read_about_thread(int tid, const char* file, char (&text)[Size]) noexcept {
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, file);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t size = read(fd, text, Size - 1);
    close(fd);
    if (size <= 0) return false;
    text[size] = '\0';
    return true;
}

// In the child of a fork, another thread of the parent may have been in the hook.
void install_fork_handler() noexcept {
    static constinit atomic<bool> done{false};
    if (done.exchange(true, acq_rel)) return;  // acq_rel: only one caller installs
    stay_loaded();
    call_in_child_of_fork(&forget_questions);
}

}  // namespace

bool is_sample(const void* info) noexcept {
    const auto* i = static_cast<const siginfo_t*>(info);
    return i->si_code == SI_TIMER && i->si_value.sival_ptr == &hook_now;
}

void sample_if_due(const void* info, const void* context) noexcept {
    if (!is_sample(info)) return;
    in_hook.fetch_add(1, seq_cst);  // before the hook is read: end_sampling
    const sample_hook hook = hook_now.load(seq_cst);
    if (hook != nullptr) {
        const auto* i = static_cast<const siginfo_t*>(info);
        hook(place_of(i->si_signo, context), static_cast<uint32_t>(i->si_overrun) + 1);
    }
    in_hook.fetch_sub(1, release);  // pairs with end_sampling
}

bool begin_sampling(sample_hook hook) noexcept {
    install_fork_handler();
    enable_questions();  // installs the handler
    struct sigaction there{};
    sigaction(default_interrupt_signal, nullptr, &there);
    if ((there.sa_flags & SA_SIGINFO) == 0 && (there.sa_handler == SIG_DFL || there.sa_handler == SIG_IGN))
        return false;
    hook_now.store(hook, seq_cst);
    return true;
}

void end_sampling() noexcept {
    hook_now.store(nullptr, seq_cst);
    for (uint32_t i = 0; in_hook.load(seq_cst) != 0; ++i) spin_backoff(i);
}

bool may_block_sampling(int tid) noexcept {
    const int kept_errno = errno;
    char text[4096];
    bool blocks = false;
    if (read_about_thread(tid, "status", text)) {
        constexpr char before[] = "\nSigBlk:";
        const char* mask = std::strstr(text, before);
        blocks = mask != nullptr &&
                 ((std::strtoull(mask + sizeof(before) - 1, nullptr, 16) >> (default_interrupt_signal - 1)) & 1) != 0;
    }
    // "number arguments…", or "running"
    if (!blocks && read_about_thread(tid, "syscall", text))
        blocks = std::strtol(text, nullptr, 10) == SYS_rt_sigtimedwait;
    errno = kept_errno;
    return blocks;
}

int start_timer(sampling_timer& timer, int tid, int64_t first_ns, int64_t period_ns) noexcept {
    constexpr int to_thread = 4;  // SIGEV_THREAD_ID
    kernel_event event{};
    event.value = &hook_now;
    event.signal = default_interrupt_signal;
    event.notify = to_thread;
    event.tid = tid;
    int id = 0;
    const int kept_errno = errno;
    int error = 0;
    if (syscall(SYS_timer_create, thread_cpu_clock(tid), &event, &id) != 0) {
        error = errno;
    } else {
        const itimerspec times{to_timespec(period_ns), to_timespec(first_ns)};
        if (syscall(SYS_timer_settime, id, 0, &times, nullptr) != 0) {
            error = errno;
            syscall(SYS_timer_delete, id);
        }
    }
    errno = kept_errno;
    if (error == 0) timer = {tid, id};
    return error;
}

// The timer of a thread that has ended is not armed.
bool has_thread(const sampling_timer& timer) noexcept {
    itimerspec left{};
    return syscall(SYS_timer_gettime, timer.id, &left) == 0 &&
           (left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0);
}

void end_timer(const sampling_timer& timer) noexcept { syscall(SYS_timer_delete, timer.id); }

void forget_sampling() noexcept {
    hook_now.store(nullptr, relaxed_alone);
    in_hook.store(0, relaxed_alone);
}

}  // namespace weft::detail::os
