// stack_use.h: measuring how deep live green threads have used their stacks.
#pragma once

namespace weft::detail {

class report;
struct scheduler;

// Notes the depth of every G of s that waits or is runnable, in s.places. Any thread that keeps s. of: the report that this is for, whose
// goes_on() is called from time to time; no more is measured once it says no.
void measure_live(scheduler& s, report* of = nullptr) noexcept;

}  // namespace weft::detail
