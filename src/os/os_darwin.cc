// os_darwin.cc: os.h, what only macOS has.
#include <pthread.h>

#include <cstddef>

#include "os/os.h"

namespace weft::detail::os {

void name_thread(const char* name) noexcept {
    constexpr std::size_t longest = 15;
    char cut[longest + 1] = {};
    for (std::size_t i = 0; i < longest && name[i] != '\0'; ++i) cut[i] = name[i];
    pthread_setname_np(cut);
}

int thread_stack_bounds(const void*& low, std::size_t& size) noexcept {
    size = pthread_get_stacksize_np(pthread_self());
    low = static_cast<const char*>(pthread_get_stackaddr_np(pthread_self())) - size;
    return 0;
}

// The system has no such call. Then both sides of each protocol execute a fence.
bool has_heavy_fence() noexcept { return false; }

void renew_heavy_fence() noexcept {}

bool heavy_fence() noexcept { return false; }

}  // namespace weft::detail::os
