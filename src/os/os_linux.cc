// os_linux.cc: os.h on Linux: threads, futexes, pages, clocks, output.
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "base/assert.h"
#include "os/late_handlers.h"
#include "os/os.h"
#include "os/signals.h"

namespace weft::detail::os {

namespace {

// Calls left until one fails; 0: no call fails.
constinit atomic<int> fail_map{0};
constinit atomic<int> fail_thread{0};
constinit atomic<int> fail_commit{0};
constinit atomic<int> fail_unmap{0};
constexpr int all_fail = -1;
constexpr int fence_attempts = 100;

atomic<int>& countdown_of(failure kind) noexcept {
    switch (kind) {
        case failure::map:
            return fail_map;
        case failure::thread:
            return fail_thread;
        case failure::commit:
            return fail_commit;
        case failure::unmap:
            break;
    }
    return fail_unmap;
}

// The mask of the program's thread that started the first of ours.
constinit sigset_t program_mask{};
constinit atomic<bool> mask_kept{false};

void keep_program_mask(const sigset_t& mask) noexcept {
    if (!mask_kept.exchange(true, acq_rel)) program_mask = mask;  // acq_rel: only one of us writes
}

timespec to_timespec(int64_t ns) noexcept { return {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000}; }

}  // namespace

void fail_nth_for_test(failure kind, int n) noexcept {
    countdown_of(kind).store(n, relaxed);  // relaxed: tests only
}

void fail_all_commits_for_test() noexcept { fail_commit.store(all_fail, relaxed); }  // relaxed: tests only

bool injected_failure(failure kind) noexcept {
    atomic<int>& countdown = countdown_of(kind);
    int left = countdown.load(relaxed);  // relaxed: tests set it while no other thread runs
    if (left == all_fail) return true;
    while (left > 0) {
        if (countdown.compare_exchange_weak(left, left - 1, relaxed)) return left == 1;  // relaxed: as above
    }
    return false;
}

int64_t monotonic_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

namespace {

bool futex_wait_until(const atomic<uint32_t>& word, uint32_t expected, int64_t deadline_ns) noexcept {
    static_assert(sizeof(word) == sizeof(uint32_t));
    const timespec deadline = to_timespec(deadline_ns);
    const timespec* limit = deadline_ns == INT64_MAX ? nullptr : &deadline;
    // This form takes an absolute deadline on the monotonic clock.
    const long result =
        syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, limit, nullptr, FUTEX_BITSET_MATCH_ANY);
    return result == 0 || errno != ETIMEDOUT;
}

}  // namespace

bool futex_wait(atomic<uint32_t>& word, uint32_t expected, int64_t deadline_ns) noexcept {
    if constexpr (!handlers_come_late) return futex_wait_until(word, expected, deadline_ns);
    for (;;) {
        constexpr int64_t nap_ns = 20'000'000;
        const int64_t nap_over_ns = monotonic_ns() + nap_ns;
        if (futex_wait_until(word, expected, std::min(nap_over_ns, deadline_ns))) return true;
        if (deadline_ns <= nap_over_ns) return false;
        const timespec none{};
        ::nanosleep(&none, nullptr);  // ThreadSanitizer intercepts it
    }
}

void futex_wake_one(atomic<uint32_t>& word) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

std::size_t page_size() noexcept {
    static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

void* map_pages(std::size_t size, bool sparse) noexcept {
    if (injected_failure(failure::map)) {
        errno = ENOMEM;
        return nullptr;
    }
    unmap_kept_pages();
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (sparse ? MAP_NORESERVE : 0);
    void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (address == MAP_FAILED) return nullptr;
    if (sparse) madvise(address, size, MADV_NOHUGEPAGE);
    return address;
}

bool discard_pages(void* address, std::size_t size) noexcept { return madvise(address, size, MADV_DONTNEED) == 0; }

int start_thread(thread_id& id, void* (*body)(void*), void* argument) noexcept {
    if (injected_failure(failure::thread)) return EAGAIN;
    // Signals of the program go to its own threads; faults stay deliverable.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    keep_program_mask(before);
    pthread_t thread{};
    const int result = pthread_create(&thread, nullptr, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (result == 0) id = thread;
    return result;
}

void name_thread(const char* name) noexcept {
    char cut[16] = {};
    std::strncpy(cut, name, sizeof(cut) - 1);
    pthread_setname_np(pthread_self(), cut);
}

int thread_stack_bounds(const void*& low, std::size_t& size) noexcept {
    pthread_attr_t attributes;
    if (const int error = pthread_getattr_np(pthread_self(), &attributes)) return error;
    void* address = nullptr;
    pthread_attr_getstack(&attributes, &address, &size);
    low = address;
    pthread_attr_destroy(&attributes);
    return 0;
}

void detach_this_thread() noexcept { pthread_detach(pthread_self()); }

void join_thread(thread_id id) noexcept {
    const int result = pthread_join(id, nullptr);
    WEFT_ASSERT(result == 0);
}

thread_id this_thread_id() noexcept { return pthread_self(); }

int current_tid() noexcept { return static_cast<int>(syscall(SYS_gettid)); }

void yield_thread() noexcept { sched_yield(); }

void sleep_ns(int64_t ns) noexcept {
    const timespec t = to_timespec(ns);
    nanosleep(&t, nullptr);
}

int timeout_slack_ns() noexcept { return prctl(PR_GET_TIMERSLACK); }

void set_timeout_slack_ns(int ns) noexcept { prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(ns)); }

void write_all(int fd, const char* text, std::size_t size) noexcept {
    std::size_t done = 0;
    while (done < size) {
        const ssize_t wrote = write(fd, text + done, size - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) break;
        done += static_cast<std::size_t>(wrote);
    }
}

bool has_heavy_fence() noexcept {
    static const bool registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    return registered;
}

void renew_heavy_fence() noexcept {
    if (has_heavy_fence()) syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

void call_in_child_of_fork(void (*f)()) noexcept { pthread_atfork(nullptr, nullptr, f); }

void restore_signals() noexcept {
    if (mask_kept.load(relaxed))
        pthread_sigmask(SIG_SETMASK, &program_mask, nullptr);  // relaxed: there is no other thread
}

unsigned thread_count() noexcept {
    struct stat tasks{};
    if (stat("/proc/self/task", &tasks) != 0) return 0;
    return static_cast<unsigned>(tasks.st_nlink - 2);  // one directory each
}

bool heavy_fence() noexcept {
    if (!has_heavy_fence()) return false;
    // The kernel may be out of memory for a moment.
    for (int attempt = 0; attempt < fence_attempts; ++attempt) {
        if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return true;
        sched_yield();
    }
    return false;
}

}  // namespace weft::detail::os
