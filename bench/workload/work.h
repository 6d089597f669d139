// work.h: work of a known length, calibrated beforehand: hashing, not waiting.
#pragma once

#include <algorithm>

#include "measurement.h"
#include "random.h"

namespace bench {

// Work for that many nanoseconds of an otherwise idle core. A task that loses the core still has
// all of it to do, unlike spin_for(), which checks the clock. The result is checked each time.
class piece_of_work {
public:
    explicit piece_of_work(int64_t ns) : steps_(1 + ns * trial_steps / trial_ns()) {
        expected_ = hash_over(seed_, steps_);
    }

    void run() const { check(hash_over(seed_, steps_) == expected_, "work: the hash"); }

private:
    static constexpr int64_t trial_steps = 50'000;

    // The shortest of several trials; the others were disturbed.
    int64_t trial_ns() const {
        int64_t shortest = INT64_MAX;
        uint64_t sink = 0;
        for (int trial = 0; trial < 20; ++trial) {
            const int64_t begin = now_ns();
            sink += hash_over(seed_ + sink, trial_steps);
            shortest = std::min(shortest, now_ns() - begin);
        }
        check(sink != 0, "work: it is done");
        return std::max<int64_t>(shortest, 1);
    }

    const volatile uint64_t seed_ = 1;  // volatile, so that the compiler cannot know the result
    int64_t steps_;
    uint64_t expected_ = 0;
};

}  // namespace bench
