// stack_use.h: measures the stack depth of live green threads.
#pragma once

namespace weft::detail {

class report;
struct scheduler;

// Records the depth of every waiting or runnable G in s.places. Threads: any that keeps s. Stops
// when of->goes_on() returns false.
void measure_live(scheduler& s, report* of = nullptr) noexcept;

}  // namespace weft::detail
