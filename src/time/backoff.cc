// backoff.cc: see weft/backoff.h.
#include <stdexcept>

#include <weft/backoff.h>
#include <weft/detail/step.h>
#include <weft/time.h>

#include "base/atomic.h"
#include "sched/random.h"

namespace weft {

backoff::backoff(const backoff_options& how) : how_(how) {
    if (how.first.count() < 0) throw std::invalid_argument("weft: backoff_options::first must not be negative");
    if (how.longest.count() < 0) throw std::invalid_argument("weft: backoff_options::longest must not be negative");
    if (how.factor == 0) throw std::invalid_argument("weft: backoff_options::factor must be at least 1");
    if (how.jitter_percent > 100)
        throw std::invalid_argument("weft: backoff_options::jitter_percent must be from 0 to 100");
}

void backoff::wait() { weft::sleep_for(next()); }

// The generators of random.h have the same seed in each process, so they would not keep processes
// apart. In a simulation the time is virtual, and the schedule chooses one of a few numbers: a
// search through all schedules tries each.
uint64_t detail::backoff_random() noexcept {
    static constinit atomic<uint64_t> count{0};
    constexpr uint64_t step = 0x9e3779b97f4a7c15;
    constexpr uint32_t choices = 4;
    const uint64_t differs =
        simulates() ? step * random_below(choices) : count.fetch_add(step, relaxed);  // relaxed: only differs
    // The finalizer of splitmix64.
    uint64_t x = static_cast<uint64_t>(now_ns()) + differs;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

}  // namespace weft
