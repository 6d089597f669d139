// os_threads_test.cc: surplus OS threads end. Where threads are few, calls wait without delaying
// others.

#include <poll.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/cpu_time.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/resources.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class OsThreads : public ::testing::TestWithParam<unsigned> {
protected:
    // Other threads of the process, and the monitor.
    std::size_t others_ = resources::now().threads + 1;
};

INSTANTIATE_TEST_SUITE_P(Procs, OsThreads, ::testing::Values(1U, 2U, 4U));

std::unique_ptr<runtime> runtime_with(const char* name, const char* value, unsigned procs) {
    const environment_variable set(name, value);
    return std::make_unique<runtime>(runtime_options{.procs = procs});
}

TEST_P(OsThreads, SurplusThreadsEndAndAnIdleProcessSleeps) {
    const bool others_storm = in_storm();  // then the monitor of the default runtime may never sleep
    const calm no_storm;
    const auto rt = runtime_with("RUN_THREAD_IDLE", "50", GetParam());
    for (int burst = 0; burst < 3; ++burst) {
        constexpr int calls = 20;
        std::atomic<int> begun = 0;
        std::atomic<std::size_t> threads = 0;  // while all are in their calls
        const auto call = [&] {
            if (++begun == calls) {
                threads = resources::now().threads;
                threads.notify_all();
            }
            threads.wait(0);
        };
        for (int i = 0; i < calls; ++i) rt->go([&] { blocking(hand_off::at_once, call); });
        rt->drain();
        EXPECT_GT(threads, others_ + GetParam());
        eventually([&] { return resources::now().threads <= others_ + GetParam(); });
    }
    // A timer is not forgotten when the M that waited for it ends.
    for (int i = 0; i < 20; ++i) {
        rt->go([] { blocking(hand_off::at_once, [] { std::this_thread::sleep_for(20ms); }); });
    }
    rt->run([] { sleep_for(300ms); });
    eventually([&] { return resources::now().threads <= others_ + GetParam(); });
    const auto switches = [] {
        rusage before{};
        rusage after{};
        ::getrusage(RUSAGE_SELF, &before);
        std::this_thread::sleep_for(300ms);  // the observed time
        ::getrusage(RUSAGE_SELF, &after);
        return after.ru_nvcsw - before.ru_nvcsw;
    };
    // Before that, the monitor gives memory back. With ThreadSanitizer, sleeping threads now and
    // then check for signals, and its own thread wakes up, too.
    if (!others_storm && !built_with_tsan) eventually([&] { return switches() <= 3; });
    EXPECT_EQ(rt->run([] { return 5; }), 5);
}

TEST_P(OsThreads, ARuntimeMayStopWhileThreadsEnd) {
    const int rounds = scaled(30);
    for (int i = 0; i < rounds; ++i) {
        const auto rt = runtime_with("RUN_THREAD_IDLE", "1", GetParam());
        for (int k = 0; k < 10; ++k) {
            rt->go([] { blocking(hand_off::at_once, [] { std::this_thread::sleep_for(1ms); }); });
            rt->go([] { const pin here; });
        }
        rt->drain();
        std::this_thread::sleep_for(std::chrono::microseconds(100 * i));
    }
    eventually([&] { return resources::now().threads < others_; });
}

// 100 calls of 5 ms on the threads that are left, beside a G that computes and yields.
TEST_P(OsThreads, CallsBeyondTheLimitWaitAndOthersRun) {
    const auto rt = runtime_with("RUN_MAX_THREADS", "8", GetParam());
    std::atomic<bool> done = false;
    std::atomic<int> in_calls = 0;
    std::atomic<int> most = 0;
    std::atomic<int64_t> worked_ns = 0;
    for (unsigned i = 0; i < GetParam(); ++i) {
        rt->go([&] {
            while (!done) {
                const auto before = cpu_time(CLOCK_THREAD_CPUTIME_ID);
                compute_for(10us);
                worked_ns += (cpu_time(CLOCK_THREAD_CPUTIME_ID) - before).count();
                yield();
            }
        });
    }
    eventually([&] { return worked_ns > 100'000; });
    const auto began = std::chrono::steady_clock::now();
    const int64_t worked_before = worked_ns;
    rt->run([&] {
        wait_group calls;
        for (int i = 0; i < 100; ++i) {
            calls.go([&] {
                blocking([&] {
                    const int now = ++in_calls;
                    int seen = most;
                    while (seen < now && !most.compare_exchange_weak(seen, now)) {}
                    ::poll(nullptr, 0, 5);
                    --in_calls;
                });
            });
        }
        calls.wait();
    });
    const auto took = std::chrono::steady_clock::now() - began;
    const std::chrono::nanoseconds worked(worked_ns - worked_before);
    done = true;
    rt->drain();
    EXPECT_LE(most, static_cast<int>(8 - GetParam()));
    EXPECT_GE(most, 2);
    EXPECT_LE(resources::now().threads, others_ + 8);
    // 100 calls of 5 ms on 8 − P threads take 70 to 125 ms. The rest is slack for a busy machine.
    EXPECT_LT(took, 2s);
    // The G that computes was not delayed: one turn of 10 us between two calls would add up to 1
    // ms.
    EXPECT_GT(worked, 3ms);
    RecordProperty("took_us", std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
    RecordProperty("worked_us", std::to_string(worked / 1us));
    RecordProperty("shortages", std::to_string(rt->stats().thread_shortages));
}

}  // namespace
}  // namespace weft::test
