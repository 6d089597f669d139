// os_posix.cc: os.h, what POSIX defines: threads, pages, clocks, output.
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#if defined(__linux__) || defined(__FreeBSD__)
#include <sys/syscall.h>
#endif
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "base/assert.h"
#include "os/mapping.h"
#include "os/os.h"
#include "os/signals.h"

namespace weft::detail::os {

namespace {

// The mask of the program's thread that started the first of ours.
constinit sigset_t program_mask{};
constinit atomic<bool> mask_kept{false};

void keep_program_mask(const sigset_t& mask) noexcept {
    if (!mask_kept.exchange(true, acq_rel)) program_mask = mask;  // acq_rel: only one of us writes
}

}  // namespace

std::size_t page_size() noexcept {
    static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

void* map_pages(std::size_t size, bool sparse) noexcept {
    if (const int error = injected_failure(failure::map); error != 0) {
        errno = error;
        return nullptr;
    }
    unmap_kept_pages();
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (sparse ? map_uncounted : 0);
    void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (address == MAP_FAILED) return nullptr;
    refuse_huge_pages(address, size);
    return address;
}

// New pages take the place of the old ones at once.
bool discard_read_pages(void* address, std::size_t size) noexcept { return discard_pages(address, size); }

bool protect_pages(void* address, std::size_t size) noexcept { return mprotect(address, size, PROT_NONE) == 0; }

int start_thread(thread_id& id, void* (*body)(void*), void* argument) noexcept {
    if (const int error = injected_failure(failure::thread); error != 0) return error;
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
    if (result == 0) id = std::bit_cast<thread_id>(thread);
    return result;
}

void detach_this_thread() noexcept { pthread_detach(pthread_self()); }

void join_thread(thread_id id) noexcept {
    const int result = pthread_join(std::bit_cast<pthread_t>(id), nullptr);
    WEFT_ASSERT(result == 0);
}

thread_id this_thread_id() noexcept { return std::bit_cast<thread_id>(pthread_self()); }

// Neither calls sched_yield(), nanosleep() or clock_nanosleep(): weft::sim replaces these for green
// threads of a simulation, weft::hooks for all, and the caller may hold a lock of the runtime.
void yield_thread() noexcept {
#if defined(SYS_sched_yield)
    syscall(SYS_sched_yield);
#else
    sched_yield();
#endif
}

void sleep_ns(int64_t ns) noexcept {
    const timespec t = {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
#if defined(__APPLE__)
    nanosleep(&t, nullptr);
#elif defined(SYS_clock_nanosleep)
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, nullptr);
#else
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
#endif
}

void write_all(int fd, const char* text, std::size_t size) noexcept {
    std::size_t done = 0;
    while (done < size) {
        const ssize_t wrote = write(fd, text + done, size - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) break;
        done += static_cast<std::size_t>(wrote);
    }
}

void call_in_child_of_fork(void (*f)()) noexcept { pthread_atfork(nullptr, nullptr, f); }

void restore_signals() noexcept {
    if (mask_kept.load(relaxed))
        pthread_sigmask(SIG_SETMASK, &program_mask, nullptr);  // relaxed: there is no other thread
}

}  // namespace weft::detail::os
