// metrics_text.h: figures of a runtime as OpenMetrics text.
#pragma once

#include <span>
#include <string>

#include <weft/debug.h>

namespace weft::observe::detail {

// Throws std::bad_alloc.
[[nodiscard]] std::string metrics_text(const stats_snapshot& stats,
                                       const latency_histogram& latency,
                                       const latency_histogram& timer_lateness,
                                       std::span<const proc_snapshot> procs);

}  // namespace weft::observe::detail
