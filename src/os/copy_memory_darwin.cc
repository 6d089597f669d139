// copy_memory_darwin.cc: see cpu_sampling.h, and commit.h.
#include <mach/mach.h>
#include <mach/vm_map.h>

#include <cstdint>

#include "os/commit.h"
#include "os/cpu_sampling.h"

namespace weft::detail::os {

bool copy_memory(void* to, const void* from, std::size_t size) noexcept {
    vm_size_t copied = 0;
    return vm_read_overwrite(mach_task_self(), reinterpret_cast<vm_address_t>(from), size,
                             reinterpret_cast<vm_address_t>(to), &copied) == KERN_SUCCESS &&
           copied == size;
}

bool is_readable(const void* address) noexcept {
    uint32_t word = 0;
    return copy_memory(&word, reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(address) & ~uintptr_t{3}),
                       sizeof(word));
}

}  // namespace weft::detail::os
