// runtimes.h: for tests of the runtime in chosen orders of its threads.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "stepped.h"

namespace stepped {

inline weft::runtime_options with_procs(unsigned n) {
    weft::runtime_options o;
    o.procs = n;
    o.preempt_signal = weft::runtime_options::no_signal;
    return o;
}

inline void passes(const std::function<void()>& body, const options& how = {}) {
    const result r = explore(how, body);
    EXPECT_EQ(r.failing_seed, 0U) << r.report;
    std::printf("%u schedules, %llu steps on average\n", r.schedules,
                static_cast<unsigned long long>(r.steps / r.schedules));
}

// A wake-up that is lost is repaired when the monitor looks, some milliseconds later.
class promptly {
public:
    explicit promptly(int64_t most_ns) : most_ns_(most_ns) {}

    ~promptly() { EXPECT_LT(now_ns() - before_, most_ns_) << "virtual nanoseconds"; }

    promptly(const promptly&) = delete;
    promptly& operator=(const promptly&) = delete;

private:
    int64_t most_ns_;
    int64_t before_ = now_ns();
};

// body in a green thread of a runtime with n Ps.
inline void passes_in_runtime(unsigned n, const std::function<void()>& body) {
    passes([&] {
        weft::runtime rt(with_procs(n));
        const promptly in_time(5'000'000);
        rt.run(body);
    });
}

}  // namespace stepped
