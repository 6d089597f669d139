// leak_scan.cc: see leak_scan.h.
#include "observe/leak_scan.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <system_error>

#include "observe/memory_map.h"
#include "observe/own_thread.h"
#include "os/os.h"

namespace weft::observe::detail {

struct leak_scan::shared {
    std::atomic<bool> may_begin{false};
    pid_t program = 0;
    int helper = 0;
    bool stops_threads = false;
    int64_t deadline_ns = 0;
    pid_t copy = 0;
    scan_outcome outcome;
    search_result result;
};

namespace {

constexpr std::size_t stack_size = std::size_t{256} * 1024;
constexpr int64_t nap_ns = 200'000;
constexpr int64_t stop_limit_ns = 200'000'000;  // until all threads have stopped
constexpr int rounds_max = 16;                  // threads that start others meanwhile
constexpr int event_stop = 128;                 // PTRACE_EVENT_STOP, which is not in all headers

void nap() noexcept {
    const timespec t{0, nap_ns};
    ::syscall(SYS_nanosleep, &t, nullptr);
}

int64_t now_ns() noexcept { return weft::detail::os::monotonic_ns(); }

int64_t own_cpu_ns() noexcept {
    timespec t{};
    ::syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Of the caller, which is a process or a thread. The value is that of getpriority.
int priority_of_caller() noexcept {
    constexpr int highest = 20;  // the system call returns 20 minus the value
    return highest - static_cast<int>(::syscall(SYS_getpriority, PRIO_PROCESS, 0));
}

void set_priority_of_caller(int value) noexcept { ::syscall(SYS_setpriority, PRIO_PROCESS, 0, value); }

// ---- T. Only system calls. It shares errno with H, which makes no call that fails meanwhile.

class tracer {
public:
    tracer(search_result& result, scan_outcome& outcome, pid_t program, int helper) noexcept
        : result_(result), outcome_(outcome), program_(program), helper_(helper) {}

    // Returns whether the registers of all threads are known.
    bool stop_all() noexcept {
        const int64_t limit_ns = now_ns() + stop_limit_ns;
        bool all = true;
        for (int round = 0; round < rounds_max; ++round) {
            const std::size_t before = result_.thread_count;
            all = seize_new() && all;
            for (std::size_t i = before; i < result_.thread_count; ++i) all = await_stop(i, limit_ns) && all;
            if (result_.thread_count == before) return all;
        }
        return false;
    }

    void let_all_go() noexcept {
        for (std::size_t i = 0; i < result_.thread_count; ++i) {
            if (stopped_[i]) ::syscall(SYS_ptrace, PTRACE_DETACH, result_.threads[i].tid, 0, long{signals_[i]});
        }
    }

private:
    struct entry {
        uint64_t inode;
        int64_t offset;
        unsigned short length;
        unsigned char type;
        char name[1];
    };

    bool seize_new() noexcept {
        char path[64] = "/proc/";
        char* end = path + std::strlen(path);
        end = append(end, program_);
        std::memcpy(end, "/task", 6);
        const int folder = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (folder < 0) return false;
        bool all = true;
        for (;;) {
            const long got = ::syscall(SYS_getdents64, folder, entries_, sizeof(entries_));
            if (got <= 0) {
                all = all && got == 0;
                break;
            }
            for (long at = 0; at < got;) {
                const char* one = entries_ + at;
                unsigned short length = 0;
                std::memcpy(&length, one + offsetof(entry, length), sizeof(length));
                if (const int tid = number(one + offsetof(entry, name))) all = seize(tid) && all;
                at += length;
            }
        }
        ::syscall(SYS_close, folder);
        return all;
    }

    static char* append(char* to, int value) noexcept {
        char digits[12];
        int count = 0;
        do {
            digits[count++] = static_cast<char>('0' + value % 10);
            value /= 10;
        } while (value != 0);
        while (count != 0) *to++ = digits[--count];
        return to;
    }

    static int number(const char* name) noexcept {
        int value = 0;
        for (; *name >= '0' && *name <= '9'; ++name) value = value * 10 + (*name - '0');
        return value;
    }

    bool seize(int tid) noexcept {
        if (tid == helper_) return true;
        for (std::size_t i = 0; i < result_.thread_count; ++i) {
            if (result_.threads[i].tid == tid) return true;
        }
        if (result_.thread_count == search_result::threads_max) return false;
        if (::syscall(SYS_ptrace, PTRACE_SEIZE, tid, 0, 0) != 0) {
            if (errno == ESRCH) return true;  // it has ended
            if (outcome_.error == 0) outcome_.error = errno;
            return false;
        }
        ::syscall(SYS_ptrace, PTRACE_INTERRUPT, tid, 0, 0);
        const std::size_t i = result_.thread_count++;
        result_.threads[i] = {};
        result_.threads[i].tid = tid;
        stopped_[i] = false;
        signals_[i] = 0;
        return true;
    }

    bool await_stop(std::size_t i, int64_t limit_ns) noexcept {
        stopped_thread& t = result_.threads[i];
        for (;;) {
            int status = 0;
            const long ended = ::syscall(SYS_wait4, t.tid, &status, __WALL | WNOHANG, nullptr);
            if (ended < 0) {
                t.has_ended = errno == ECHILD;
                return t.has_ended;
            }
            if (ended == t.tid) {
                t.has_ended = !WIFSTOPPED(status);
                if (t.has_ended) return true;
                stopped_[i] = true;
                // A signal that was about to be delivered is delivered when it goes on.
                if (status >> 16 != event_stop) signals_[i] = WSTOPSIG(status);
                return read_registers(t);
            }
            if (now_ns() > limit_ns) return false;
            ::sched_yield();
        }
    }

    static bool read_set(int tid, int set, void* into, std::size_t& size) noexcept {
        iovec v{into, size};
        if (::syscall(SYS_ptrace, PTRACE_GETREGSET, tid, static_cast<long>(set), &v) != 0) return false;
        size = v.iov_len;
        return true;
    }

    // The registers of a processor are told from each other by their size.
    static bool read_registers(stopped_thread& t) noexcept {
        constexpr std::size_t x86_64_words = 27;
        constexpr std::size_t aarch64_words = 34;
        constexpr std::size_t riscv64_words = 32;
        std::size_t size = sizeof(t.registers);
        if (!read_set(t.tid, NT_PRSTATUS, t.registers, size)) return false;
        t.words = size / sizeof(uintptr_t);
        if (t.words == x86_64_words) {
            t.in_system_call = static_cast<intptr_t>(t.registers[15]) >= 0;  // orig_rax
            t.stack_pointer = t.registers[19];
            t.thread_pointer = t.registers[21];
        } else if (t.words == aarch64_words) {
            std::size_t one = sizeof(t.thread_pointer);
            t.stack_pointer = t.registers[31];
            if (!read_set(t.tid, NT_ARM_TLS, &t.thread_pointer, one)) t.thread_pointer = 0;
            int call = -1;
            std::size_t size_of_call = sizeof(call);
            t.in_system_call = read_set(t.tid, NT_ARM_SYSTEM_CALL, &call, size_of_call) && call >= 0;
        } else if (t.words == riscv64_words) {
            t.stack_pointer = t.registers[2];
            t.thread_pointer = t.registers[4];
            t.in_system_call = false;  // unknown: old values may hide a leak, and report none
        } else {
            return false;
        }
        // Vector registers hold parts of objects that are being copied. No function expects the
        // C library to keep them in a system call, so what they hold then is old.
        std::size_t rest = sizeof(t.registers) - size;
        if (!t.in_system_call && read_set(t.tid, NT_FPREGSET, t.registers + t.words, rest))
            t.words += rest / sizeof(uintptr_t);
        t.is_known = true;
        return true;
    }

    search_result& result_;
    scan_outcome& outcome_;
    const pid_t program_;
    const int helper_;
    bool stopped_[search_result::threads_max];
    int signals_[search_result::threads_max];
    alignas(8) char entries_[8192];
};

// ---- S.

[[noreturn]] void run_copy(search_result& result, int priority) noexcept {
    set_priority_of_caller(priority);
    // A fault ends it; the program's handlers would report the program.
    struct sigaction plain{};
    plain.sa_handler = SIG_DFL;
    for (const int fault : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE}) ::sigaction(fault, &plain, nullptr);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    search_for_leaks(result);
    ::syscall(SYS_exit_group, 0);
    __builtin_unreachable();
}

// Returns when it has ended, or was ended because the time is over.
void await_copy(pid_t copy, int64_t deadline_ns) noexcept {
    bool ended_by_us = false;
    for (;;) {
        int status = 0;
        if (::syscall(SYS_wait4, copy, &status, __WALL | WNOHANG, nullptr) != 0) return;
        if (!ended_by_us && now_ns() > deadline_ns) {
            ::syscall(SYS_kill, copy, SIGKILL);
            ended_by_us = true;
        }
        nap();
    }
}

}  // namespace

// What T and S use lies on the stack of T, which is not scanned.
struct leak_scan_process {
    template <typename Shared>
    static int run(void* argument) noexcept {
        auto& all = *static_cast<Shared*>(argument);
        while (!all.may_begin.load(std::memory_order_acquire)) ::sched_yield();  // pairs with begin
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int priority = priority_of_caller();
        set_priority_of_caller(-20);  // fails unless it is allowed
        tracer threads(all.result, all.outcome, all.program, all.helper);
        const int64_t began_ns = now_ns();
        if (began_ns >= all.deadline_ns) return 0;
        if (all.stops_threads) all.outcome.has_registers = threads.stop_all();
        const int64_t stopped_ns = now_ns();
        const int64_t cpu_ns = own_cpu_ns();
        const long copy = ::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr);
        if (copy == 0) run_copy(all.result, priority);
        const int fork_error = copy < 0 ? errno : 0;
        const int64_t copied_ns = now_ns();
        all.outcome.copy_cpu_ns = own_cpu_ns() - cpu_ns;
        threads.let_all_go();
        set_priority_of_caller(priority);
        all.outcome.pause_ns = now_ns() - began_ns;
        all.outcome.copy_ns = copied_ns - stopped_ns;
        if (copy < 0) {
            all.outcome.error = fork_error;
            return 0;
        }
        await_copy(static_cast<pid_t>(copy), all.deadline_ns);
        all.outcome.search_ns = now_ns() - copied_ns;
        return 0;
    }
};

namespace {

struct mapped_memory {
    explicit mapped_memory(std::size_t bytes) noexcept : size(bytes), at(map_zeroed(bytes)) {}

    ~mapped_memory() {
        if (at != nullptr) ::munmap(at, size);
    }

    mapped_memory(const mapped_memory&) = delete;
    mapped_memory& operator=(const mapped_memory&) = delete;

    const std::size_t size;
    void* const at;
};

// Static thread-local variables of all loaded objects, if they lie below the thread pointer, as on
// x86-64.
std::size_t thread_locals_size() noexcept {
    struct closure {
        uintptr_t pointer;
        std::size_t size = 0;

        static int look(dl_phdr_info* info, std::size_t, void* self) noexcept {
            constexpr std::size_t far = std::size_t{1} << 20;  // such a block is on the heap
            auto& c = *static_cast<closure*>(self);
            const auto at = reinterpret_cast<uintptr_t>(info->dlpi_tls_data);
            if (at != 0 && at < c.pointer && c.pointer - at < far) c.size = std::max(c.size, c.pointer - at);
            return 0;
        }
    } c{reinterpret_cast<uintptr_t>(__builtin_thread_pointer())};

    ::dl_iterate_phdr(&closure::look, &c);
    return c.size;
}

[[noreturn]] void fail(int error, const char* what) { throw std::system_error(error, std::generic_category(), what); }

}  // namespace

leak_scan::leak_scan() {
    const int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE;
    void* at = ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (at == MAP_FAILED) fail(errno, "weft: no memory for the search for leaked green threads");
    shared_ = new (at) shared;
}

leak_scan::~leak_scan() { ::munmap(shared_, sizeof(shared)); }

const search_result& leak_scan::result() const noexcept { return shared_->result; }

scan_outcome leak_scan::run(int64_t time_limit_ns, bool stops_threads) {
    const mapped_memory stack(stack_size);
    if (stack.at == nullptr) fail(ENOMEM, "weft: no memory for the search for leaked green threads");
    shared& all = *shared_;
    all.result.thread_count = 0;
    all.result.is_complete = false;
    all.result.live = all.result.waiting = all.result.heap_bytes = all.result.heap_blocks = 0;
    all.result.blocks_reached = all.result.root_bytes = all.result.other_bytes = all.result.scanned_bytes = 0;
    all.result.found_count = 0;
    all.result.error = search_error::unknown;
    all.outcome = {};
    all.program = ::getpid();
    all.stops_threads = stops_threads;
    all.deadline_ns = now_ns() + time_limit_ns;
    const auto range = [](const void* low, std::size_t size) noexcept {
        return address_range{reinterpret_cast<uintptr_t>(low), reinterpret_cast<uintptr_t>(low) + size};
    };
    all.result.not_scanned[0] = range(shared_, sizeof(shared));
    all.result.not_scanned[1] = range(stack.at, stack.size);
    all.may_begin.store(false, std::memory_order_relaxed);  // relaxed: T does not exist yet

    int error = 0;
    const auto helper = [&]() noexcept {
        all.helper = weft::detail::os::current_tid();
        all.result.thread_locals_size = thread_locals_size();
        ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // for Yama; fails where that is not used
        auto* top = static_cast<std::byte*>(stack.at) + stack.size;
        const int t =
            ::clone(&leak_scan_process::run<shared>, top, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED, &all);
        if (t < 0) {
            error = errno;
            return;
        }
        all.may_begin.store(true, std::memory_order_release);  // pairs with run
        constexpr int64_t grace_ns = 2'000'000'000;            // for T, beyond what S may take
        bool ended_by_us = false;
        int status = 0;
        while (::syscall(SYS_wait4, t, &status, __WALL | WNOHANG, nullptr) == 0) {
            if (!ended_by_us && now_ns() > all.deadline_ns + grace_ns) {
                ::kill(t, SIGKILL);
                ended_by_us = true;
            }
            nap();
        }
        ::prctl(PR_SET_PTRACER, 0, 0, 0, 0);
    };
    own_thread thread("weft-leaks", false, helper);
    thread.join();
    if (error != 0) fail(error, "weft: cannot start the process that searches for leaked green threads");
    scan_outcome outcome = all.outcome;
    outcome.is_complete = all.result.is_complete;
    return outcome;
}

}  // namespace weft::observe::detail
