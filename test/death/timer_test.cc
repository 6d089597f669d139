// timer_test.cc: misuse of timers, exceptions that leave their functions, and timers that outlive
// everything.

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>

#include <weft/weft.h>

#include "death/death.h"
#include "os/os.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class Timer : public DeathTest {};

template <typename F>
void inside(F&& f) {
    runtime rt({.procs = 1});
    rt.run(f);
}

TEST_F(Timer, UsingAnEmptyTimerIsFatal) {
    EXPECT_ABORT(timer().stop(), fatal_line("stop of an empty weft::timer; assign a new one first"));
    EXPECT_ABORT(timer().reset(1ms), fatal_line("reset of an empty weft::timer; assign a new one first"));
    EXPECT_ABORT((void)timer().chan(), fatal_line("chan of an empty weft::timer; assign a new one first"));
    EXPECT_ABORT(timer().detach(), fatal_line("detach of an empty weft::timer; assign a new one first"));
    EXPECT_ABORT(ticker().stop(), fatal_line("stop of an empty weft::ticker; assign a new one first"));
    EXPECT_ABORT(ticker().reset(1ms), fatal_line("reset of an empty weft::ticker; assign a new one first"));
    EXPECT_ABORT((void)ticker().chan(), fatal_line("chan of an empty weft::ticker; assign a new one first"));
}

TEST_F(Timer, UsingAMovedFromTimerIsFatal) {
    EXPECT_ABORT(inside([] {
                     timer t(1h);
                     const timer taken = std::move(t);
                     t.stop();  // NOLINT
                 }),
                 fatal_line("stop of an empty weft::timer; assign a new one first"),
                 "weft: in green thread %d \"run\" (%s)");
    EXPECT_ABORT(inside([] {
                     timer t(1h);
                     t.detach();
                     t.reset(1s);
                 }),
                 fatal_line("reset of an empty weft::timer; assign a new one first"));
}

TEST_F(Timer, DroppingATimerUnderAWaiterByReferenceIsFatal) {
    EXPECT_ABORT(inside([] {
                     timer t(1h);
                     {
                         const auto c = t.chan();
                         go([&c] { c.recv(); });
                         yield();
                     }
                     t = timer();
                 }),
                 fatal_line("the last handle of a weft::chan was destroyed while a thread waited on it; give each "
                            "green thread its own copy"));
}

TEST_F(Timer, AnEscapedExceptionNamesWhereTheTimerWasSet) {
    EXPECT_ABORT(inside([] {
                     const timer t = after_func(1us, [] { throw std::runtime_error("too late"); });
                     for (;;) weft::yield();
                 }),
                 fatal_line("an exception of type std::runtime_error (too late) left green thread %d (started by %d at "
                            "%stimer_test.cc:%d, in %s)"),
                 "weft: use weft::async or weft::wait_group::go to pass exceptions to a waiter");
}

// ---- The end of the process.

TEST_F(Timer, MainMayReturnWhileTimersArePending) {
    EXPECT_EXIT(
        {
            static timer late;
            static timer call;
            static ticker every;
            std::exit(weft::main([] {
                late = timer(1h);
                call = after_func(1h, [] { std::_Exit(1); });
                every = ticker(1ms);
                after_func(1ms, [] { std::_Exit(2); }).detach();
                const auto c = after(1h);
                return 7;
            }));
        },
        ::testing::ExitedWithCode(7), "");
}

TEST_F(Timer, TimersOfPlainThreadsMayLiveUntilExit) {
    EXPECT_EXIT(
        {
            static timer late(1h);
            static timer call = after_func(1h, [] { std::_Exit(1); });
            static ticker every(1us);
            after_func(1h, [] { std::_Exit(2); }).detach();
            every.chan().recv();
            std::exit(7);
        },
        ::testing::ExitedWithCode(7), "");
}

// No stack, or no default runtime, is available: the call throws, and can be repeated.
TEST_F(Timer, AFailedSetThrowsAndCanBeRepeated) {
    const auto fails_then_works = [](detail::os::failure what, auto set) {
        detail::os::fail_nth_for_test(what, 1);
        bool thrown = false;
        try {
            set();
        } catch (const resource_exhausted&) {
            thrown = true;
        }
        const chan<int> ran(1);
        const timer t = after_func(1us, [ran] { ran.send(7); });
        std::_Exit(thrown && ran.recv() == 7 && after(1us).recv().has_value() ? 0 : 1);
    };
    const auto a_timer = [] { const timer t(1h); };
    const auto a_call = [] { const timer t = after_func(1h, [] {}); };
    EXPECT_EXIT(fails_then_works(detail::os::failure::map, a_timer), ::testing::ExitedWithCode(0), "");
    EXPECT_EXIT(fails_then_works(detail::os::failure::thread, a_timer), ::testing::ExitedWithCode(0), "");
    EXPECT_EXIT(fails_then_works(detail::os::failure::map, a_call), ::testing::ExitedWithCode(0), "");
    EXPECT_EXIT(fails_then_works(detail::os::failure::thread, a_call), ::testing::ExitedWithCode(0), "");
}

// A timer that is not running and cannot be set again is unchanged.
TEST_F(Timer, AFailedResetLeavesTheTimerUnchanged) {
    EXPECT_EXIT(
        {
            timer t;
            inside([&t] {
                t = timer(1us);
                while (stats().timers_fired == 0) yield();
            });
            detail::os::fail_nth_for_test(detail::os::failure::thread, 1);
            bool thrown = false;
            try {
                t.reset(1h);
            } catch (const resource_exhausted&) {
                thrown = true;
            }
            const bool ticked = t.chan().try_recv().status == chan_status::ok;
            std::_Exit(thrown && ticked && !t.stop() && !t.reset(1us) && t.chan().recv().has_value() ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft::test
