// start.h: the threads of a scheduler, and its beginning and end.
//
// See: docs/runtime.md
#pragma once

#include <source_location>

#include "sched/scheduler.h"

namespace weft::detail {

// Makes a scheduler for options, with environment and defaults filled in, and no threads yet. Throws resource_exhausted.
[[nodiscard]] scheduler* make_scheduler(const runtime_options& options);

// Creates an M whose thread starts spinning with p. Returns 0 or an errno value.
[[nodiscard]] int start_m(scheduler& s, P* p) noexcept;

// Starts the first M, so that there is somebody to wake the others. Throws resource_exhausted.
void start_first_m(scheduler& s);

// Makes all Ms stop at their next scheduling point and waits for them, at most until deadline_ns. True: all have ended; then the Gs that
// are left have been taken off every queue, and abandoned says how many there were.
[[nodiscard]] bool stop_scheduler(scheduler& s, int64_t deadline_ns, std::size_t& abandoned) noexcept;

}  // namespace weft::detail
