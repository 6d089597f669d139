// copy_memory_windows.cc: see cpu_sampling.h.
#include "os/cpu_sampling.h"
#include "os/windows_api.h"

namespace weft::detail::os {

bool copy_memory(void* to, const void* from, std::size_t size) noexcept {
    SIZE_T copied = 0;
    return ReadProcessMemory(GetCurrentProcess(), from, to, size, &copied) != 0 && copied == size;
}

}  // namespace weft::detail::os
