// spin_backoff.cc: how a thread waits for a spin lock (weft/detail/spin_lock.h).
#include <algorithm>
#include <cstdint>

#include <weft/detail/spin_lock.h>

#include "base/generation.h"
#include "os/os.h"

namespace weft::detail {

namespace {

constexpr uint32_t pauses_before_yield = 64;
constexpr uint32_t yields_before_sleep = 128;
constexpr int64_t lock_sleep_ns = 50'000;
// Naps get longer, up to 0.8 ms, so that many napping threads let the holder run.
constexpr uint32_t naps_of_a_length = 4;
constexpr uint32_t doublings_max = 4;
constexpr uint32_t hopeless_in_child = 1'400;  // about 1 s: in the child of fork the holder is gone

}  // namespace

void spin_backoff(uint32_t attempt) noexcept {
    if (attempt < pauses_before_yield) {
        const uint32_t pauses = attempt < 4 ? 1U << attempt : 16;
        for (uint32_t i = 0; i < pauses; ++i) os::cpu_relax();
    } else if (attempt < yields_before_sleep) {
        os::yield_thread();
    } else {
        if (attempt > hopeless_in_child && fork_generation.load(relaxed_alone) != 0)
            fatal_in_child("an object that a thread of the parent had locked was");
        os::sleep_ns(lock_sleep_ns << std::min((attempt - yields_before_sleep) / naps_of_a_length, doublings_max));
    }
}

}  // namespace weft::detail
