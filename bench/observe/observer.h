// observer.h: what watches a benchmark while it runs, chosen by the environment.
//
//     BENCH_OBSERVE=recorder       a flight recorder: weft::observe::recorder
//     BENCH_OBSERVE=cpu_profiler   a CPU profiler at 100 Hz: weft::observe::cpu_profiler
//
// The programs x_observed have observer.cc in them, which obeys. The programs x, from the same
// object files, have no_observer.cc, which refuses, and nothing of weft::observe.
#pragma once

#include <memory>

namespace bench {

// Starts what BENCH_OBSERVE names; it ends with the last copy of the result. Null if the variable
// is not set. Ends the process with exit code 2 if the program does not know the name. Called by
// the green thread that begins the work.
[[nodiscard]] std::shared_ptr<const void> observer_from_environment();

}  // namespace bench
