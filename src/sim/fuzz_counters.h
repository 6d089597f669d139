// fuzz_counters.h: tells a fuzzer that a schedule has shown something new.
//
// libFuzzer keeps an input that executes new code. The order of green threads often changes nothing
// of that kind until it is the one that fails. So each switch from one operation to another, of
// other green threads, is counted as if it were a branch. libFuzzer reads counters of a section
// with a certain name; on other systems nothing is counted.
//
// Threads: one.
#pragma once

#include "sim/strategies.h"

namespace weft::sim {

void cover_switch(const candidate& from, const candidate& to) noexcept;

}  // namespace weft::sim
