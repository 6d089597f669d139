// filter.h: a recording of some of the green threads.
//
// What is left: the events of these green threads, the wake-ups that end their waits, and what
// threads and Ps do. Counters and messages of plain threads stay, too.
//
// Threads: any.
#pragma once

#include <weft/observe/recorder.h>

#include "observe/recorded.h"

namespace weft::observe::detail {

// The whole filter is empty.
[[nodiscard]] bool matches_all(const green_thread_filter& filter) noexcept;

[[nodiscard]] recorded filtered(const recorded& all, const green_thread_filter& filter);

}  // namespace weft::observe::detail
