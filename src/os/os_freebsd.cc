// os_freebsd.cc: os.h, what only FreeBSD has.
#include <pthread.h>
#include <pthread_np.h>
#include <sched.h>

#include "os/os.h"

// FreeBSD 14.1. Before that, an unknown system call would end the process, so the C library must
// have the function.
extern "C" [[gnu::weak]] int membarrier(int command, unsigned flags, int cpu);

namespace weft::detail::os {

namespace {

constexpr int fence_attempts = 100;
constexpr int fence = 1 << 3;        // MEMBARRIER_CMD_PRIVATE_EXPEDITED
constexpr int register_it = 1 << 4;  // MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED

}  // namespace

void name_thread(const char* name) noexcept { pthread_set_name_np(pthread_self(), name); }

int thread_stack_bounds(const void*& low, std::size_t& size) noexcept {
    pthread_attr_t attributes;
    if (const int error = pthread_attr_init(&attributes)) return error;
    const int error = pthread_attr_get_np(pthread_self(), &attributes);
    if (error == 0) {
        void* address = nullptr;
        pthread_attr_getstack(&attributes, &address, &size);
        low = address;
    }
    pthread_attr_destroy(&attributes);
    return error;
}

int current_tid() noexcept { return pthread_getthreadid_np(); }

bool has_heavy_fence() noexcept {
    static const bool registered = &membarrier != nullptr && membarrier(register_it, 0, 0) == 0;
    return registered;
}

void renew_heavy_fence() noexcept {
    if (has_heavy_fence()) static_cast<void>(membarrier(register_it, 0, 0));
}

bool heavy_fence() noexcept {
    if (!has_heavy_fence()) return false;
    for (int attempt = 0; attempt < fence_attempts; ++attempt) {
        if (membarrier(fence, 0, 0) == 0) return true;
        yield_thread();
    }
    return false;
}

}  // namespace weft::detail::os
