// metrics_text.h: figures of a runtime as OpenMetrics text.
#pragma once

#include <span>
#include <string>

#include <weft/debug.h>

#include "debug/stats.h"

namespace weft::observe::detail {

// Throws std::bad_alloc.
[[nodiscard]] std::string metrics_text(const stats_snapshot& stats,
                                       const weft::detail::latencies& latencies,
                                       std::span<const proc_snapshot> procs);

}  // namespace weft::observe::detail
