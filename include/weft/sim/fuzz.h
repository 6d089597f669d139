// fuzz.h: lets a fuzzer choose the schedules of a test.
//
//     extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
//         return weft::sim::fuzz(data, size, [] {
//             …                          // a test, as for explore()
//         });
//     }
//
// Compiled by Clang with -fsanitize=fuzzer, and linked with weft::sim. A fuzzer keeps inputs that
// show something new: code that has not run before, or, with libFuzzer on Linux, one operation that
// follows another one of another green thread for the first time. So it comes step by step to
// orders that random choices take too seldom.
//
// See: docs/sim.md
#pragma once

#include <cstddef>
#include <functional>

#include <weft/sim/sim.h>

namespace weft::sim {

/// As explore_input(). If the schedule fails, prints report::text() on stderr and calls abort().
/// Keeps a runtime between calls. `with` is that of the first call. Returns 0.
int fuzz(const unsigned char* data, std::size_t size, std::function<void()> body, const options& with = {});

}  // namespace weft::sim
