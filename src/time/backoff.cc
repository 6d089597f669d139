// backoff.cc: see weft/backoff.h.
#include <limits>
#include <stdexcept>

#include <weft/backoff.h>
#include <weft/time.h>

#include "base/atomic.h"
#include "sched/random.h"
#include "sched/simulation.h"

namespace weft {

backoff::backoff(const backoff_options& how) : how_(how) {
    if (how.first.count() < 0) throw std::invalid_argument("weft: backoff_options::first must not be negative");
    if (how.longest.count() < 0) throw std::invalid_argument("weft: backoff_options::longest must not be negative");
    if (how.factor == 0) throw std::invalid_argument("weft: backoff_options::factor must be at least 1");
    if (how.jitter_percent > 100)
        throw std::invalid_argument("weft: backoff_options::jitter_percent must be from 0 to 100");
}

void backoff::wait() { weft::sleep_for(next()); }

// The library's own generators have the same seed in each process (random.h), so that outside of a
// simulation they would not keep processes apart.
uint64_t detail::backoff_random() noexcept {
    static constinit atomic<uint64_t> count{0};
    if (simulates()) {
        constexpr uint32_t all = (std::numeric_limits<uint32_t>::max)();
        return uint64_t{random_below(all)} << 32 | random_below(all);
    }
    // The finalizer of splitmix64, over the time and a count.
    uint64_t x =
        static_cast<uint64_t>(now_ns()) + count.fetch_add(0x9e3779b97f4a7c15, relaxed);  // relaxed: only differs
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

}  // namespace weft
