// stats.h: sums of the counters of one runtime: see weft/debug.h.
//
// Threads: any that keeps s.
#pragma once

#include <cstddef>

#include <weft/debug.h>

namespace weft::detail {

struct scheduler;

[[nodiscard]] stats_snapshot stats_of(scheduler& s) noexcept;
[[nodiscard]] latency_histogram latency_of(const scheduler& s) noexcept;

// The histograms of all Ps, added up.
struct latencies {
    latency_histogram scheduling;      // as weft::scheduling_latency
    latency_histogram timer_lateness;  // the first of those that fired together
    latency_histogram poll_delay;      // P::poll_delay
};

[[nodiscard]] latencies latencies_of(const scheduler& s) noexcept;
[[nodiscard]] latencies latencies_of_caller() noexcept;  // as weft::stats()

// Fills in up to count Ps. Returns the number of Ps.
std::size_t procs_of(const scheduler& s, proc_snapshot* all, std::size_t count) noexcept;

}  // namespace weft::detail
