// exception_test.cc: an exception that leaves a detached green thread ends the process, and says whose it was.

#include <exception>
#include <stdexcept>
#include <thread>

#include <weft/weft.h>

#include "death/culprit.h"
#include "death/death.h"

namespace weft::test {
namespace {

class EscapedException : public DeathTest {};

struct burnt_toast {
    int minutes;
};

constexpr const char* advice = "weft: use weft::async or weft::wait_group::go to pass exceptions on";

// Runs f detached, as a green thread called cook.
template <typename F>
void as_cook(F f) {
    runtime rt({.procs = 1});
    rt.run([&] {
        go({.name = "cook"}, f);
        for (;;) weft::yield();
    });
}

TEST_F(EscapedException, NamesItsTypeItsTextTheGAndWhereThatWasStarted) {
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

[[gnu::noinline]] void thrower() {
    std::fprintf(stderr, "thrower returns to %p\n", __builtin_return_address(0));
    throw std::logic_error("deep down");
}

[[gnu::noinline]] void caller() {
    thrower();
    asm volatile("" ::: "memory");
}

// Nothing was unwound: the frames that threw are in the report.
TEST_F(EscapedException, ShowsTheFramesThatThrew) {
    EXPECT_EXIT(as_cook([] { caller(); }), ::testing::KilledBySignal(SIGABRT),
                ::testing::Truly([](const std::string& text) {
                    const std::string_view told = "thrower returns to ";
                    const std::size_t begin = text.find(told) + told.size();
                    return occurrences(text, ' ' + text.substr(begin, text.find('\n', begin) - begin) + ' ') == 1;
                }));
}

TEST_F(EscapedException, AfterOthersThatWereCaughtIsTheRightOne) {
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

TEST_F(EscapedException, OfMainTravelsInstead) {
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

// What was there before us has its say afterwards.
TEST_F(EscapedException, ThenGoesToTheHandlerThatWasThereBefore) {
    EXPECT_EXIT(
        {
            std::set_terminate([] { std::_Exit(11); });
            as_cook([] { throw std::runtime_error("out of tea"); });
        },
        ::testing::ExitedWithCode(11), ::testing::HasSubstr("(out of tea) left green thread "));
}

TEST_F(EscapedException, OfAPlainThreadIsNoneOfOurBusiness) {
    EXPECT_EXIT(
        {
            runtime rt({.procs = 1});
            std::thread([] { throw std::runtime_error("plain"); }).join();
        },
        ::testing::KilledBySignal(SIGABRT), ::testing::Not(::testing::HasSubstr("weft: ")));
}

}  // namespace
}  // namespace weft::test
