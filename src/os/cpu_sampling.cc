// cpu_sampling.cc: where threads have no timers: see cpu_sampling.h.
#include "os/cpu_sampling.h"

#include <cerrno>

#include "os/interrupt_signal.h"

namespace weft::detail::os {

bool is_sample(const void* /*info*/) noexcept { return false; }

void sample_if_due(const void* /*info*/, const void* /*context*/) noexcept {}

bool begin_sampling(void (* /*hook*/)(const fault&, uint32_t) noexcept) noexcept { return false; }

void end_sampling() noexcept {}

bool may_block_sampling(int /*tid*/) noexcept { return false; }

int start_timer(sampling_timer& /*timer*/, int /*tid*/, int64_t /*first_ns*/, int64_t /*period_ns*/) noexcept {
    return ENOTSUP;
}

bool has_thread(const sampling_timer& /*timer*/) noexcept { return false; }

void end_timer(const sampling_timer& /*timer*/) noexcept {}

void forget_sampling() noexcept {}

}  // namespace weft::detail::os
