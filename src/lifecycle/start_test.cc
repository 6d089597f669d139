// start_test.cc: options and environment of a runtime, and warnings about invalid values.
#include "lifecycle/start.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "lifecycle/stopping.h"
#include "os/interrupt_signal.h"
#include "os/os.h"
#include "sched/current.h"
#include "sched/scheduler.h"
#include "support/build.h"
#include "support/captured.h"
#include "support/emulator.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/resources.h"
#include "support/units.h"

namespace weft::detail {
namespace {

using test::kib;
using test::mib;

class Environment : public ::testing::Test {
protected:
    struct settings {
        unsigned procs;
        std::size_t stack_size;
        uint32_t threads_max;
        int64_t slice_ns;
        int64_t thread_idle_ns;
        int64_t timer_slack_ns;
    };

    settings seen(const runtime_options& options = {}) {
        settings s{};
        said_ = test::stderr_of([&] {
            runtime rt(options);
            s = rt.run([] {
                const scheduler& home = *current_m()->home;
                return settings{home.ps.in_use(), home.stacks.usable_size(0), home.threads_max,
                                home.slice_ns,    home.thread_idle_ns,        home.timer_slack_ns};
            });
            EXPECT_EQ(rt.procs(), s.procs);
        });
        return s;
    }

    std::string said_;

private:
    // The suite may run with some of them set.
    test::environment_variable procs_{"RUN_MAXPROCS", nullptr};
    test::environment_variable stack_max_{"RUN_STACK_MAX", nullptr};
    test::environment_variable max_threads_{"RUN_MAX_THREADS", nullptr};
    test::environment_variable slice_{"RUN_SLICE", nullptr};
    test::environment_variable preempt_signal_{"RUN_PREEMPT_SIGNAL", nullptr};
    test::environment_variable thread_idle_{"RUN_THREAD_IDLE", nullptr};
    test::environment_variable timer_slack_{"RUN_TIMER_SLACK", nullptr};
};

TEST_F(Environment, UnsetVariablesGiveTheDefaults) {
    const settings s = seen();
    EXPECT_EQ(s.procs, os::usable_cpus());
    EXPECT_EQ(s.stack_size, 256 * kib);
    EXPECT_EQ(s.threads_max, 10'000U);
    EXPECT_EQ(s.slice_ns, 10'000'000);
    EXPECT_EQ(s.thread_idle_ns, 5'000'000'000);
    EXPECT_EQ(said_, "");
}

TEST_F(Environment, SetVariablesAreUsed) {
    test::change_environment("RUN_MAXPROCS", "3");
    test::change_environment("RUN_STACK_MAX", "64k");
    test::change_environment("RUN_MAX_THREADS", "7");
    const settings s = seen();
    EXPECT_EQ(s.procs, 3U);
    EXPECT_EQ(s.stack_size, 64 * kib);
    EXPECT_EQ(s.threads_max, 7U);
    EXPECT_EQ(said_, "");
}

TEST_F(Environment, MainUsesSetVariables) {
    test::change_environment("RUN_MAXPROCS", "3");
    EXPECT_EQ(weft::main([] { return static_cast<int>(stats().procs); }), 3);
}

TEST_F(Environment, TimesMayBeShort) {
    test::change_environment("RUN_SLICE", "0.1");
    test::change_environment("RUN_THREAD_IDLE", "1.5s");
    const settings s = seen();
    EXPECT_EQ(s.slice_ns, 100'000);
    EXPECT_EQ(s.thread_idle_ns, 1'500'000'000);
    EXPECT_EQ(seen({.slice = std::chrono::microseconds(20)}).slice_ns, 20'000) << "options have precedence";
    EXPECT_EQ(said_, "");
    test::change_environment("RUN_SLICE", "1us");
    EXPECT_EQ(seen().slice_ns, 10'000'000);
    EXPECT_EQ(
        said_,
        "weft: RUN_SLICE=\"1us\" is not a time from 10us to 10s, in ms or with a unit (ns, us, ms, s); using 10ms\n");
}

TEST_F(Environment, TimersMayShareWakeUps) {
    EXPECT_EQ(seen().timer_slack_ns, 0);
    EXPECT_EQ(seen({.timer_slack = std::chrono::microseconds(3)}).timer_slack_ns, 3'000);
    test::change_environment("RUN_TIMER_SLACK", "500us");
    EXPECT_EQ(seen().timer_slack_ns, 500'000);
    EXPECT_EQ(seen({.timer_slack = std::chrono::microseconds(3)}).timer_slack_ns, 3'000) << "options have precedence";
}

TEST_F(Environment, AnUnusablePreemptSignalGivesTheDefault) {
    if (!os::can_interrupt) GTEST_SKIP() << "nothing is preempted by signals";
    test::change_environment("RUN_PREEMPT_SIGNAL", "11");
    seen();
    const std::string usual = std::to_string(os::default_interrupt_signal);
    EXPECT_EQ(said_, "weft: RUN_PREEMPT_SIGNAL=11 is a signal that cannot interrupt threads; using " + usual + "\n");
    EXPECT_THROW(seen({.preempt_signal = 11}), std::invalid_argument) << "as an option it is a mistake";
}

TEST_F(Environment, OptionsHavePrecedence) {
    test::change_environment("RUN_MAXPROCS", "junk");
    test::change_environment("RUN_STACK_MAX", "junk");
    const settings s = seen({.procs = 2, .stack_size = 32 * kib});
    EXPECT_EQ(s.procs, 2U);
    EXPECT_EQ(s.stack_size, 32 * kib);
    EXPECT_EQ(said_, "");
}

TEST_F(Environment, JunkGivesOneLineEachAndTheDefault) {
    test::change_environment("RUN_MAXPROCS", "all");
    test::change_environment("RUN_STACK_MAX", "1 MB");
    test::change_environment("RUN_MAX_THREADS", "-1");
    const settings s = seen();
    EXPECT_EQ(s.procs, os::usable_cpus());
    EXPECT_EQ(s.stack_size, 256 * kib);
    EXPECT_EQ(s.threads_max, 10'000U);
    EXPECT_EQ(said_, "weft: RUN_MAXPROCS=\"all\" is not a number from 1 to 1024; using " +
                         std::to_string(os::usable_cpus()) +
                         "\n"
                         "weft: RUN_MAX_THREADS=\"-1\" is not a number from 1 to 1048576; using 10000\n"
                         "weft: RUN_STACK_MAX=\"1 MB\" is not a number from 16384 to 67108864; using 262144\n");
}

TEST_F(Environment, AValueBelowTheRangeGivesTheDefault) {
    test::change_environment("RUN_MAXPROCS", "0");
    test::change_environment("RUN_STACK_MAX", "16383");
    test::change_environment("RUN_MAX_THREADS", "0");
    const settings s = seen();
    EXPECT_EQ(s.procs, os::usable_cpus());
    EXPECT_EQ(s.stack_size, 256 * kib);
    EXPECT_EQ(s.threads_max, 10'000U);
    EXPECT_EQ(test::lines_of(said_).size(), 3U);
}

TEST_F(Environment, AValueAboveTheRangeGivesTheMaximum) {
    // 2 TiB of address space for stacks: 14 GB of an emulator's memory.
    if (!test::untouched_pages_are_free()) GTEST_SKIP() << "the emulator keeps notes on every page of the stacks";
    test::change_environment("RUN_MAXPROCS", "1025");
    test::change_environment("RUN_STACK_MAX", "1G");
    test::change_environment("RUN_MAX_THREADS", "2000000");
    const settings s = seen();
    EXPECT_EQ(s.procs, 1024U);
    EXPECT_EQ(s.stack_size, 64 * mib);
    EXPECT_EQ(s.threads_max, 1U << 20);
    EXPECT_EQ(said_,
              "weft: RUN_MAXPROCS=1025 is more than 1024; using 1024\n"
              "weft: RUN_MAX_THREADS=2000000 is more than 1048576; using 1048576\n"
              "weft: RUN_STACK_MAX=1G is more than 67108864; using 67108864\n");
}

TEST_F(Environment, TheEndsOfTheRangesAreValid) {
    test::change_environment("RUN_MAXPROCS", "1");
    test::change_environment("RUN_STACK_MAX", "16k");
    test::change_environment("RUN_MAX_THREADS", "1");
    const settings least = seen();
    EXPECT_EQ(least.procs, 1U);
    EXPECT_EQ(least.stack_size, 16 * kib);
    EXPECT_EQ(least.threads_max, 1U);
    EXPECT_EQ(said_,
              "weft: RUN_MAX_THREADS=1 leaves no thread for other green threads while one is in a blocking call; set "
              "it to 2 or more\n");
    test::change_environment("RUN_MAX_THREADS", nullptr);
    if (!test::untouched_pages_are_free()) GTEST_SKIP() << "the emulator keeps notes on every page of the stacks";
    test::change_environment("RUN_MAXPROCS", "1024");
    test::change_environment("RUN_STACK_MAX", "64M");
    EXPECT_EQ(seen().procs, 1024U);
    EXPECT_EQ(said_, "");
}

TEST_F(Environment, TheThreadLimitExceedsTheNumberOfProcessors) {
    test::change_environment("RUN_MAX_THREADS", "6");
    EXPECT_EQ(seen({.procs = 5}).procs, 5U);
    EXPECT_EQ(said_, "");
    EXPECT_EQ(seen({.procs = 6}).procs, 5U);
    EXPECT_EQ(said_,
              "weft: RUN_MAX_THREADS=6 leaves no thread for blocking calls beside 6 processors; using 5 processors\n");
    runtime rt({.procs = 2});
    EXPECT_EQ(rt.set_max_procs(8), 2U);
    EXPECT_EQ(rt.procs(), 5U);
}

TEST_F(Environment, TheThreadLimitBoundsStartedThreads) {
    for (const char* most : {"1", "2"}) {
        test::change_environment("RUN_MAX_THREADS", most);
        runtime rt({.procs = 8});
        rt.run([] {
            wait_group all;
            for (int i = 0; i < 200; ++i) all.go([] { test::compute_for(std::chrono::microseconds(50)); });
            all.wait();
        });
        EXPECT_LE(rt.stats().threads, std::stoul(most));
    }
}

TEST(RuntimeOptions, ValuesOutOfRangeThrow) {
    EXPECT_THROW(runtime({.procs = 1025}), std::invalid_argument);
    EXPECT_THROW(runtime({.procs = 1, .stack_size = 16 * kib - 1}), std::invalid_argument);
    EXPECT_THROW(runtime({.procs = 1, .stack_size = 64 * mib + 1}), std::invalid_argument);
    EXPECT_THROW(runtime({.procs = 1, .memory_idle = std::chrono::microseconds(999)}), std::invalid_argument);
    EXPECT_THROW(runtime({.procs = 1, .memory_idle = std::chrono::hours(2)}), std::invalid_argument);
    EXPECT_THROW(runtime({.procs = 1, .timer_slack = std::chrono::nanoseconds(-1)}), std::invalid_argument);
    EXPECT_THROW(runtime({.procs = 1, .timer_slack = std::chrono::milliseconds(1001)}), std::invalid_argument);
    EXPECT_THROW(runtime({.procs = 1, .slice = std::chrono::microseconds(9)}), std::invalid_argument);
    EXPECT_THROW(runtime({.procs = 1, .slice = std::chrono::seconds(11)}), std::invalid_argument);
    EXPECT_THROW(runtime({.procs = 1, .slice = std::chrono::nanoseconds(-1)}), std::invalid_argument);
    EXPECT_THROW(weft::main({.procs = 1025}, [] {}), std::invalid_argument);
    EXPECT_EQ(weft::main({.procs = 1}, [] { return 4; }), 4) << "a main that failed is over";
}

TEST(RuntimeOptions, StacksHaveTheRequestedSize) {
    for (const std::size_t size : {16 * kib, 256 * kib, 3 * mib, 64 * mib}) {
        runtime rt({.procs = 1, .stack_size = size});
        EXPECT_GE(rt.run([] { return current_m()->g->stack->size(); }), size);
    }
}

// In ns, and modulo 2^64, they would be 20 ms.
TEST(RuntimeOptions, AHugeWatchdogTimeDoesNotOverflow) {
    const std::chrono::milliseconds allowed((int64_t{1} << 58) + 20);
    const std::string said = test::stderr_of([&] {
        runtime rt({.procs = 1, .watchdog = allowed});
        rt.run([] { test::compute_for(std::chrono::milliseconds(100)); });
    });
    EXPECT_EQ(said, "");
}

TEST(RuntimeOptions, MoreThreadsThanPsAreNotStarted) {
    const std::size_t before = test::resources::now().threads;
    runtime rt({.procs = 2, .retake = false});  // a retake gives a slow M's P to another M
    rt.run([] {
        wait_group all;
        for (int i = 0; i < 100; ++i) all.go([] { test::compute_for(std::chrono::microseconds(100)); });
        all.wait();
    });
    EXPECT_LE(rt.stats().threads, 2U);
    // The sanitizer may start a thread.
    if (!test::built_with_tsan) {
        EXPECT_LE(test::resources::now().threads, before + 3);  // and the monitor
    }
}

TEST(SpawnOptions, AStackHasAtLeastTheRequestedSize) {
    runtime rt({.procs = 1});
    rt.run([] {
        for (const std::size_t size :
             {std::size_t{0}, std::size_t{1}, 256 * kib, 256 * kib + 1, 1 * mib, 5 * mib, 64 * mib}) {
            wait_group all;
            all.go({.stack_size = size}, [size] {
                const stack& mine = *current_m()->g->stack;
                EXPECT_GE(mine.size(), size);
                EXPECT_LE(mine.size(), std::max(size * 4, 257 * kib) + 16 * kib) << "the smallest class that holds it";
            });
            all.wait();
        }
    });
}

TEST(SpawnOptions, AStackAboveTheLargestClassThrows) {
    runtime rt({.procs = 1});
    rt.run([] {
        try {
            go({.stack_size = 64 * mib + 1}, [] {});
            ADD_FAILURE() << "nothing was thrown";
        } catch (const std::invalid_argument& e) {
            EXPECT_STREQ(e.what(), "weft: stack_size is 67108865 bytes; the maximum is 67108864");
        }
        EXPECT_EQ(stats().live, 1U);
    });
}

TEST(SpawnOptions, ANameIsCutAt31Bytes) {
    runtime rt({.procs = 1});
    rt.run([] {
        wait_group all;
        const std::string name(40, 'n');
        all.go({.name = name}, [] { EXPECT_EQ(this_g::name(), std::string(31, 'n')); });
        all.go({.name = "short"}, [] { EXPECT_EQ(this_g::name(), "short"); });
        all.go([] { EXPECT_EQ(this_g::name(), ""); });
        all.wait();
    });
}

// An external thread has taken an idle P, and starts an M while the runtime stops.
TEST(Stopping, WaitsForAnMThatAnExternalThreadStarts) {
    runtime rt({.procs = 2});
    scheduler& s = *rt.run([] { return current_m()->home; });
    s.pin();
    P* p = nullptr;
    test::eventually([&] {
        const idle_guard held(s.idle);
        p = take_idle_p_locked(s, 0);
        return p != nullptr;
    });
    std::atomic<int> error{-1};
    std::thread outside([&] {
        test::eventually([&] { return s.ended.load() == s.thread_count.load(); });
        error = start_m(s, p, nullptr);
        s.unpin();
    });
    EXPECT_EQ(rt.abandon(), 0U);
    EXPECT_EQ(error, 0) << "stop() returned before the M was started";
    outside.join();
}

// In its own process: what it leaves behind makes later checks less strict.
TEST(StoppingDeathTest, AReturningStragglerIsNotTakenForAPlainThread) {
    test::start_children_in_emulator();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            scheduler* s = make_scheduler({.procs = 1, .name = "late"});
            start_first_m(*s);
            std::size_t left = 0;
            if (!stop_scheduler(*s, never, left)) std::_Exit(1);
            std::_Exit(leave_stragglers(*s, left) == 1 ? 0 : 2);
        },
        ::testing::ExitedWithCode(0), "weft: the last of them has ended in the meantime\n");
}

}  // namespace
}  // namespace weft::detail
