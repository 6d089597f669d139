// cpu_affinity.cc: where threads are not moved between CPUs: see cpu_affinity.h.
#include "os/cpu_affinity.h"

namespace weft::detail::os {

const uint32_t* this_cpu_word() noexcept { return nullptr; }

uint32_t cpu_of(const uint32_t* /*word*/) noexcept { return no_cpu; }

bool read_cpu_mask(int /*tid*/, cpu_mask& mask) noexcept {
    mask = {};
    return false;
}

bool write_cpu_mask(int /*tid*/, const cpu_mask& /*mask*/) noexcept { return false; }

bool move_this_thread(uint32_t /*cpu*/) noexcept { return false; }

}  // namespace weft::detail::os
