// stress_test.h: the fixture of tests that run for a configurable time.
//
// WEFT_STRESS_SECONDS is how many seconds each test runs for each number of processors (default 1).
// WEFT_SEED repeats the decisions of an earlier run. A test works in rounds. Each round has its own
// counts, which must balance at its end.
#pragma once

#include <chrono>
#include <cstdint>

#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {

// How long each stress test runs.
inline std::chrono::seconds stress_time() {
    return std::chrono::seconds(number_from_environment("WEFT_STRESS_SECONDS", 1));
}

class stress_test : public procs_test {
protected:
    stress_test() : procs_test(stress_time()) {}

    // Calls round(random) until the time is up or a check has failed.
    template <typename Round>
    void repeat(Round round) {
        prng random(announced_seed());
        const auto end = std::chrono::steady_clock::now() + stress_time();
        int rounds = 0;
        do {
            round(random);
            ++rounds;
        } while (!HasFailure() && std::chrono::steady_clock::now() < end);
        RecordProperty("rounds", rounds);
    }
};

}  // namespace weft::test
