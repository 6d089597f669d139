// exception_test.cc: an exception that leaves a detached green thread ends the process, and the
// report names the thread.

#include <chrono>
#include <exception>
#include <stdexcept>
#include <thread>

#include <weft/weft.h>

#include "death/culprit.h"
#include "death/death.h"
#include "os/os.h"

namespace weft::test {
namespace {

class EscapedException : public DeathTest {};

struct burnt_toast {
    int minutes;
};

constexpr const char* advice = "weft: use weft::async or weft::wait_group::go to pass exceptions to a waiter";

// Runs f detached, as a green thread called cook.
template <typename F>
void as_cook(F f) {
    runtime rt({.procs = 1});
    rt.run([&] {
        go({.name = "cook"}, f);
        for (;;) weft::yield();
    });
}

TEST_F(EscapedException, TheReportNamesTypeTextGreenThreadAndOrigin) {
    EXPECT_ABORT(as_cook([] { throw std::runtime_error("out of tea"); }),
                 fatal_line("an exception of type std::runtime_error (out of tea) left green thread %d \"cook\" "
                            "(started by %d at %sexception_test.cc:%d, in %s)"),
                 advice, frame_line);
}

TEST_F(EscapedException, NeedNotBeAStdException) {
    EXPECT_ABORT(
        as_cook([] { throw burnt_toast{7}; }),
        fatal_line("an exception of type weft::test::(anonymous namespace)::burnt_toast left green thread %d \"cook\" "
                   "(started by %d at %sexception_test.cc:%d, in %s)"),
        advice, frame_line);
    EXPECT_ABORT(as_cook([] { throw 7; }), fatal_line("an exception of type int left green thread %d \"cook\" (%s"),
                 advice);
}

[[gnu::noinline]] void thrower() { throw std::logic_error("deep down"); }

[[gnu::noinline]] void caller() {
    thrower();
    asm volatile("" ::: "memory");
}

// Nothing was unwound: the report has the frames that threw.
TEST_F(EscapedException, ShowsTheFramesThatThrew) {
    EXPECT_ABORT(as_cook([] { caller(); }), "    #%d%s weft::test::(anonymous namespace)::thrower()%s",
                 "    #%d%s weft::test::(anonymous namespace)::caller()%s");
}

TEST_F(EscapedException, IsNotConfusedWithCaughtExceptions) {
    EXPECT_ABORT(as_cook([] {
                     try {
                         throw std::runtime_error("first");
                     } catch (const std::exception&) {
                         weft::yield();
                         throw std::invalid_argument("second");
                     }
                 }),
                 fatal_line("an exception of type std::invalid_argument (second) left green thread %d \"cook\" (%s"));
}

TEST_F(EscapedException, IsRethrownByMain) {
    EXPECT_EXIT(
        {
            try {
                weft::main([] { throw std::runtime_error("out of tea"); });
            } catch (const std::runtime_error&) {
                std::_Exit(9);
            }
        },
        ::testing::ExitedWithCode(9), "");
}

TEST_F(EscapedException, TerminateWithoutAnExceptionNamesTheG) {
    EXPECT_ABORT(as_cook([] { std::terminate(); }),
                 fatal_line("std::terminate was called in green thread %d \"cook\" (started by %d at %s)"), frame_line);
}

// The terminate handler that was installed before ours runs afterwards.
TEST_F(EscapedException, CallsThePreviousTerminateHandler) {
    EXPECT_EXIT(
        {
            std::set_terminate([] { std::_Exit(11); });
            as_cook([] { throw std::runtime_error("out of tea"); });
        },
        ::testing::ExitedWithCode(11), ::testing::HasSubstr("(out of tea) left green thread "));
}

TEST_F(EscapedException, IsNotReportedForAPlainThread) {
    EXPECT_EXIT(
        {
            runtime rt({.procs = 1});
            std::thread([] { throw std::runtime_error("plain"); }).join();
        },
        by_abort, ::testing::Not(::testing::HasSubstr("weft: ")));
}

// ---- A fatal error that an exception caused: a destructor finds its object in use.

class ExceptionInFlight : public DeathTest {};

constexpr const char* destroyed_too_early =
    "a weft::event was destroyed while a thread waited for it; let its waiters return first";

// Throws what fault() throws while a green thread waits for an event, which is destroyed with the
// frame.
template <typename F>
void leave_a_waiter_behind(F fault) {
    runtime rt({.procs = 1});
    rt.run([&] {
        event gate;
        go([&gate] { gate.wait(); });
        weft::yield();
        fault();
    });
}

TEST_F(ExceptionInFlight, IsNamedByTheFatalReport) {
    EXPECT_ABORT(leave_a_waiter_behind([] { throw std::runtime_error("out of tea"); }), fatal_line(destroyed_too_early),
                 "weft: in green thread %d \"run\" (started by a plain thread at %sexception_test.cc:%d, in %s)",
                 "weft: while an exception of type std::runtime_error (out of tea) unwound the stack", frame_line);
}

TEST_F(ExceptionInFlight, IsNamedEvenIfNotAStdException) {
    EXPECT_ABORT(leave_a_waiter_behind([] { throw burnt_toast{7}; }), fatal_line(destroyed_too_early),
                 "weft: while an exception of type weft::test::(anonymous namespace)::burnt_toast unwound the stack");
}

TEST_F(ExceptionInFlight, IsNotConfusedWithACaughtException) {
    EXPECT_ABORT(leave_a_waiter_behind([] {
                     for (int i = 0; i < 10; ++i) {
                         try {
                             throw std::logic_error("over");
                         } catch (const std::exception&) {}
                     }
                     throw std::runtime_error("out of tea");
                 }),
                 fatal_line(destroyed_too_early),
                 "weft: while an exception of type std::runtime_error (out of tea) unwound the stack");
}

TEST_F(ExceptionInFlight, IsTheInnerOneOfTwo) {
    EXPECT_ABORT(
        {
            try {
                throw std::logic_error("handled");
            } catch (const std::exception&) {
                leave_a_waiter_behind([] {
                    try {
                        throw std::logic_error("outer");
                    } catch (const std::exception&) {
                        event gate;
                        go([&gate] { gate.wait(); });
                        weft::yield();
                        throw std::runtime_error("inner");
                    }
                });
            }
        },
        fatal_line(destroyed_too_early),
        "weft: while an exception of type std::runtime_error (inner) unwound the stack");
}

TEST_F(ExceptionInFlight, IsNamedWhenItIsThrownAgain) {
    EXPECT_ABORT(leave_a_waiter_behind([] {
                     try {
                         throw std::runtime_error("out of tea");
                     } catch (const std::exception&) {
                         throw;
                     }
                 }),
                 fatal_line(destroyed_too_early),
                 "weft: while an exception of type std::runtime_error (out of tea) unwound the stack");
    EXPECT_ABORT(leave_a_waiter_behind([] {
                     std::exception_ptr kept;
                     try {
                         throw std::runtime_error("out of tea");
                     } catch (const std::exception&) {
                         kept = std::current_exception();
                     }
                     std::rethrow_exception(kept);
                 }),
                 fatal_line(destroyed_too_early),
                 "weft: while an exception of type std::runtime_error (out of tea) unwound the stack");
}

TEST_F(ExceptionInFlight, IsNamedAfterItsGreenThreadHasParked) {
    EXPECT_ABORT(leave_a_waiter_behind([] {
                     struct parks {
                         ~parks() { weft::sleep_for(std::chrono::milliseconds(1)); }
                     } const on_the_way;
                     throw std::runtime_error("out of tea");
                 }),
                 fatal_line(destroyed_too_early),
                 "weft: while an exception of type std::runtime_error (out of tea) unwound the stack");
}

TEST_F(ExceptionInFlight, IsNamedWhileHandled) {
    EXPECT_ABORT(leave_a_waiter_behind([] {
                     try {
                         throw std::runtime_error("out of tea");
                     } catch (const std::exception&) {
                         event gate;
                         go([&gate] { gate.wait(); });
                         weft::yield();
                     }
                 }),
                 fatal_line(destroyed_too_early),
                 "weft: while an exception of type std::runtime_error (out of tea) was handled", frame_line);
}

TEST_F(ExceptionInFlight, AnExhaustionIsNamedWithItsRemedy) {
    EXPECT_ABORT(leave_a_waiter_behind([] {
                     detail::os::fail_nth_for_test(detail::os::failure::map, 1);
                     go({.stack_size = std::size_t{1} << 20}, [] {});
                 }),
                 fatal_line(destroyed_too_early),
                 "weft: while an exception of type weft::resource_exhausted (weft: no address space for another stack "
                 "(lower RUN_STACK_MAX or the number of green threads, or raise the limit on virtual memory: ulimit "
                 "-v)%s) unwound the stack");
}

TEST_F(ExceptionInFlight, IsNotMentionedIfThereIsNone) {
    EXPECT_EXIT(leave_a_waiter_behind([] {}), by_abort,
                ::testing::AllOf(says({fatal_line(destroyed_too_early), frame_line}),
                                 ::testing::Not(::testing::HasSubstr("weft: while an exception"))));
}

}  // namespace
}  // namespace weft::test
