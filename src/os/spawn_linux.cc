// spawn_linux.cc: starts a program: process_spawn of process_calls.h.
//
// Problem. posix_spawn does not return the child's descriptor (pidfd), and a second call may be too
// late (docs/processes.md, Rejected).
//
//   S1  The parent blocks all signals on this thread: no handler may run in the child, which shares
//       its memory.
//   S2  clone: the child has its own stack and descriptor table. The calling thread gets the
//       descriptor, and sleeps until S3 is over.
//   S3  The child sets up process group, descriptors, limits, user, directory and signals, and
//       executes the program. If a step fails, it stores errno's value in the shared memory and
//       ends.
//   S4  The parent restores its signals; if S3 has failed, it reaps the child.
//
// process_spawn_apart puts a process between the two (S3): it clones again, reports the outcome of
// that in the shared memory, and ends. It executes nothing, so its end remains without a signal.
//
// What the child may do: spawn_child.h.
//
// Rejected: pidfd_spawn: it needs glibc 2.39, and the library's users are on 2.28.
// Rejected: A child that waits for its descriptor: posix_spawn waits until the program has begun.
//
// Threads: any thread. See: docs/processes.md
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>

#include "os/never_inlined.h"
#include "os/os.h"
#include "os/process_calls.h"
#include "os/process_descriptor_linux.h"
#include "os/spawn_child.h"

extern char** environ;  // NOLINT: POSIX has it in no header

namespace weft::detail::os {

namespace {

constexpr unsigned long share_memory = 0x100;        // CLONE_VM
constexpr unsigned long with_descriptor = 0x1000;    // CLONE_PIDFD, Linux 5.2
constexpr unsigned long until_execution = 0x4000;    // CLONE_VFORK
constexpr std::size_t child_stack_size = 64 * 1024;  // holds a path of PATH_MAX, and the calls
constexpr int signals_end = 65;
constexpr long call_pidfd_open = 434;

using kernel_signal_set = uint64_t;

// The kernel's layout.
struct kernel_signal_action {
    void* handler;
    unsigned long flags;
    void* restorer;
    kernel_signal_set mask;
};

// In the order of `limited`.
constexpr int resource_numbers[] = {RLIMIT_AS,      RLIMIT_CORE,   RLIMIT_CPU,   RLIMIT_DATA, RLIMIT_FSIZE,
                                    RLIMIT_MEMLOCK, RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_STACK};

// The kernel's layout of 64 bits. ~0 is unlimited there, too.
struct kernel_limit {
    uint64_t soft;
    uint64_t hard;
};

struct child_calls {
    // The copies are closed by the execution.
    WEFT_IN_CHILD static long keep_descriptors(const program_set_up& s) noexcept {
        int above = 3;
        for (std::size_t i = 0; i < s.descriptor_count; ++i) {
            if (s.descriptors[i].number >= above) above = s.descriptors[i].number + 1;
        }
        for (std::size_t i = 0; i < s.descriptor_count; ++i) {
            const long moved = child_call(SYS_fcntl, s.descriptors[i].fd, F_DUPFD_CLOEXEC, above);
            if (moved < 0) return moved;
            s.descriptors[i].moved = static_cast<int>(moved);
        }
        return 0;
    }

    WEFT_IN_CHILD static long place_descriptors(const program_set_up& s) noexcept {
        for (std::size_t i = 0; i < s.descriptor_count; ++i) {
            const long placed = duplicate(s.descriptors[i].moved, s.descriptors[i].number);
            if (placed < 0) return placed;
        }
        return 0;
    }

    // System calls affect only the child; the functions of the C library would change all threads.
    WEFT_IN_CHILD static long set_rights(const program_set_up& s) noexcept {
        if (s.has_nice) {
            if (const long result = child_call(SYS_setpriority, PRIO_PROCESS, 0, s.nice); result < 0) return result;
        }
        for (std::size_t i = 0; i < s.limit_count; ++i) {
            const limit_request& l = s.limits[i];
            const kernel_limit limit = {l.soft, l.hard};
            const long result =
                child_call(SYS_prlimit64, 0, resource_numbers[static_cast<int>(l.what)], &limit, nullptr);
            if (result < 0) return result;
        }
        if (!s.has_user) return 0;
        long result = child_call(SYS_setgroups, s.further_group_count, s.further_groups);
        if (result >= 0) result = child_call(SYS_setresgid, s.group, s.group, s.group);
        if (result >= 0) result = child_call(SYS_setresuid, s.user, s.user, s.user);
        return result;
    }

    WEFT_IN_CHILD static long duplicate(int fd, int number) noexcept { return child_call(SYS_dup3, fd, number, 0); }

    // The call fails for SIGKILL and SIGSTOP, which need no reset.
    WEFT_IN_CHILD static void reset_signals() noexcept {
        const kernel_signal_action default_action = {nullptr, 0, nullptr, 0};
        for (int signal = 1; signal < signals_end; ++signal)
            child_call(SYS_rt_sigaction, signal, &default_action, nullptr, sizeof(kernel_signal_set));
        const kernel_signal_set none = 0;
        child_call(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof(none));
    }
};

WEFT_IN_CHILD void run_child(void* argument) noexcept {
    auto& plan = *static_cast<child_plan*>(argument);
    plan.error = static_cast<int>(-begin_program<child_calls>(plan));
    for (;;) child_call(SYS_exit_group, exit_without_program);
}

// S2. The child calls run(argument), which does not return, on the stack that ends at top. Returns
// the child's number, or minus errno's value.
//
// The child's frame pointer is zero, because no frame is before run. The compiler may keep an
// operand in that register, so argument and run are copied out first.
WEFT_OS_CALL long clone_child(
    unsigned long flags, void* top, int* descriptor, void (*run)(void*) noexcept, void* argument) noexcept {
#if defined(__x86_64__)
    long result = SYS_clone;
    asm volatile(
        "xorl %%r10d, %%r10d\n\t"
        "xorl %%r8d, %%r8d\n\t"
        "syscall\n\t"
        "testq %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "movq %[argument], %%rdi\n\t"
        "movq %[run], %%rax\n\t"
        "xorl %%ebp, %%ebp\n\t"
        "call *%%rax\n\t"
        "ud2\n"
        "1:"
        : "+a"(result)
        : "D"(flags), "S"(top), "d"(descriptor), [run] "r"(run), [argument] "r"(argument)
        : "rcx", "r8", "r10", "r11", "cc", "memory");
    return result;
#elif defined(__aarch64__)
    long result = 0;
    asm volatile(
        "mov x0, %[flags]\n\t"
        "mov x1, %[top]\n\t"
        "mov x2, %[descriptor]\n\t"
        "mov x3, xzr\n\t"
        "mov x4, xzr\n\t"
        "mov x8, %[number]\n\t"
        "svc #0\n\t"
        "cbnz x0, 1f\n\t"
        "mov x0, %[argument]\n\t"
        "mov x1, %[run]\n\t"
        "mov x29, xzr\n\t"
        "blr x1\n\t"
        "brk #1\n"
        "1:\n\t"
        "mov %[result], x0"
        : [result] "=r"(result)
        : [flags] "r"(flags), [top] "r"(top), [descriptor] "r"(descriptor), [number] "r"(static_cast<long>(SYS_clone)),
          [run] "r"(run), [argument] "r"(argument)
        : "x0", "x1", "x2", "x3", "x4", "x8", "cc", "memory");
    return result;
#elif defined(__riscv)
    long result = 0;
    asm volatile(
        "mv a0, %[flags]\n\t"
        "mv a1, %[top]\n\t"
        "mv a2, %[descriptor]\n\t"
        "li a3, 0\n\t"
        "li a4, 0\n\t"
        "mv a7, %[number]\n\t"
        "ecall\n\t"
        "bnez a0, 1f\n\t"
        "mv a0, %[argument]\n\t"
        "mv t2, %[run]\n\t"
        "li s0, 0\n\t"
        "jalr t2\n\t"
        "ebreak\n"
        "1:\n\t"
        "mv %[result], a0"
        : [result] "=r"(result)
        : [flags] "r"(flags), [top] "r"(top), [descriptor] "r"(descriptor), [number] "r"(static_cast<long>(SYS_clone)),
          [run] "r"(run), [argument] "r"(argument)
        : "a0", "a1", "a2", "a3", "a4", "a7", "t2", "memory");
    return result;
#endif
}

// Returns false before Linux 5.4.
bool can_wait_for(int descriptor) noexcept {
    siginfo_t ignored{};
    return ::waitid(wait_by_descriptor, static_cast<id_t>(descriptor), &ignored, WEXITED | WNOHANG | WNOWAIT) == 0 ||
           errno != EINVAL;
}

// S3 of process_spawn_apart.
WEFT_IN_CHILD void run_child_between(void* argument) noexcept {
    auto& plan = *static_cast<child_plan*>(argument);
    const long second = clone_child(share_memory | until_execution, plan.top, nullptr, &run_child, argument);
    if (second < 0) plan.error = static_cast<int>(-second);
    for (;;) child_call(SYS_exit_group, 0);
}

// Gives the calling thread, and so the program, ordinary timers and slices.
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

// S1 and S4. pthread_sigmask would leave out libc's internal signals.
class all_signals_blocked {
public:
    all_signals_blocked() noexcept {
        const kernel_signal_set all = ~kernel_signal_set{0};
        ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before_, sizeof(all));
    }

    ~all_signals_blocked() { ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof(before_)); }

    all_signals_blocked(const all_signals_blocked&) = delete;
    all_signals_blocked& operator=(const all_signals_blocked&) = delete;

private:
    kernel_signal_set before_ = 0;
};

// A child that changes its user marks the memory that it shares with this process as secret: no
// core files, and no debugger without privileges. That protects the memory while the child has it.
// The mark is taken back afterwards.
class kept_dumpable {
public:
    explicit kept_dumpable(const child_plan& plan) noexcept
        : changes_(plan.request->set_up != nullptr && plan.request->set_up->has_user &&
                   ::prctl(PR_GET_DUMPABLE) == ordinary) {}

    ~kept_dumpable() {
        if (changes_) ::prctl(PR_SET_DUMPABLE, ordinary);
    }

    kept_dumpable(const kept_dumpable&) = delete;
    kept_dumpable& operator=(const kept_dumpable&) = delete;

private:
    static constexpr int ordinary = 1;

    bool changes_;
};

long start_child(child_plan& plan, void* top, int& descriptor) noexcept {
    const kept_dumpable ordinary(plan);
    const as_any_thread inherited;
    const all_signals_blocked quiet;
    constexpr unsigned long flags = share_memory | until_execution | SIGCHLD;
    const long pid = clone_child(flags | with_descriptor, top, &descriptor, &run_child, &plan);
    // An emulator or a filter may refuse the flag.
    if (pid != -EINVAL && pid != -EPERM && pid != -ENOSYS) return pid;
    descriptor = -1;
    return clone_child(flags, top, nullptr, &run_child, &plan);
}

}  // namespace

WEFT_OS_CALL int process_spawn(const spawn_request& r, int& pid, int& descriptor) noexcept {
    const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): as exec does
    child_plan plan{.request = &r,
                    .environment = r.environment != nullptr ? r.environment : environ,
                    .path = path != nullptr ? path : "/bin:/usr/bin"};
    void* stack =
        ::mmap(nullptr, child_stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) return -errno;  // NOLINT(performance-no-int-to-ptr): the system's constant
    descriptor = -1;
    const long started = start_child(plan, static_cast<char*>(stack) + child_stack_size, descriptor);
    static_cast<void>(::munmap(stack, child_stack_size));  // fails at the limit of mappings; then 64 KiB stay reserved
    if (started < 0) return static_cast<int>(started);
    if (plan.error != 0) {
        if (descriptor >= 0) ::close(descriptor);
        while (::waitpid(static_cast<pid_t>(started), nullptr, 0) < 0 && errno == EINTR) {}
        return -plan.error;
    }
    // An emulator or a filter has refused the flag. This call fails if the child has ended and is
    // forgotten.
    if (descriptor < 0) descriptor = static_cast<int>(::syscall(call_pidfd_open, started, 0));
    if (descriptor >= 0 && !can_wait_for(descriptor)) {
        ::close(descriptor);
        descriptor = -1;
    }
    pid = static_cast<int>(started);
    return 0;
}

WEFT_OS_CALL int process_spawn_apart(const spawn_request& r) noexcept {
    child_plan plan{.request = &r, .environment = r.environment, .path = "/bin:/usr/bin"};
    constexpr std::size_t size = 2 * child_stack_size;
    void* stacks = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED) return -errno;  // NOLINT(performance-no-int-to-ptr): the system's constant
    plan.top = static_cast<char*>(stacks) + child_stack_size;
    long between = 0;
    {
        const as_any_thread inherited;
        const all_signals_blocked quiet;
        between = clone_child(share_memory | until_execution, plan.top + child_stack_size, nullptr, &run_child_between,
                              &plan);
    }
    static_cast<void>(::munmap(stacks, size));
    if (between < 0) return static_cast<int>(between);
    while (::waitpid(static_cast<pid_t>(between), nullptr, __WALL) < 0 && errno == EINTR) {}
    return -plan.error;
}

}  // namespace weft::detail::os
