// os_linux.cc: os.h, what only Linux has: membarrier, timer slack, names of threads.
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "os/os.h"
#include "os/stack_bounds_linux.h"

namespace weft::detail::os {

bool discard_pages(void* address, std::size_t size) noexcept { return madvise(address, size, MADV_DONTNEED) == 0; }

void name_thread(const char* name) noexcept {
    char cut[16] = {};
    std::strncpy(cut, name, sizeof(cut) - 1);
    pthread_setname_np(pthread_self(), cut);
}

int thread_stack_bounds(const void*& low, std::size_t& size) noexcept {
    pthread_attr_t attributes;
    if (const int error = pthread_getattr_np(pthread_self(), &attributes)) {
        return stack_bounds_by_map(low, size) ? 0 : error;
    }
    void* address = nullptr;
    pthread_attr_getstack(&attributes, &address, &size);
    low = address;
    pthread_attr_destroy(&attributes);
    return 0;
}

int current_tid() noexcept { return static_cast<int>(syscall(SYS_gettid)); }

int timeout_slack_ns() noexcept { return prctl(PR_GET_TIMERSLACK); }

void set_timeout_slack_ns(int ns) noexcept { prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(ns)); }

unsigned thread_count() noexcept {
    struct stat tasks{};
    if (stat("/proc/self/task", &tasks) != 0) return 0;
    return static_cast<unsigned>(tasks.st_nlink - 2);  // one directory each
}

bool has_heavy_fence() noexcept {
    static const bool registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    return registered;
}

void renew_heavy_fence() noexcept {
    if (has_heavy_fence()) syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

namespace {

constexpr int fence_attempts = 100;

}  // namespace

bool heavy_fence() noexcept {
    if (!has_heavy_fence()) return false;
    // The kernel may be out of memory for a moment.
    for (int attempt = 0; attempt < fence_attempts; ++attempt) {
        if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return true;
        yield_thread();
    }
    return false;
}

}  // namespace weft::detail::os
