// cancel_test.cc: interruptions that leave functions which no exception may leave, and channels
// that are destroyed under a select.

#include <chrono>
#include <memory>
#include <thread>

#include <weft/weft.h>

#include "death/death.h"
#include "support/for_ever.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class Interruption : public DeathTest {};

TEST_F(Interruption, IsFatalIfItLeavesADetachedGreenThread) {
    EXPECT_ABORT(
        {
            runtime rt({.procs = 1});
            rt.go({.name = "culprit"}, [] { with_timeout(1ms, wait_for_ever); });
            rt.drain();
        },
        "weft: fatal: an exception of type weft::timed_out left green thread %d \"culprit\" (started by %s");
}

// A destructor that runs because a function returns is interrupted like any other code.
TEST_F(Interruption, IsFatalIfItLeavesADestructor) {
    struct waits_at_the_end {
        ~waits_at_the_end() { wait_for_ever(); }
    };

    EXPECT_ABORT(
        {
            runtime rt({.procs = 1});
            rt.run([] { with_timeout(1ms, [] { const waits_at_the_end w; }); });
        },
        "weft: fatal: an exception of type weft::timed_out left green thread %s",
        "weft: or catch it before it leaves a noexcept function, such as a destructor");
}

TEST_F(Interruption, DestroyingAChannelUnderASelectIsFatal) {
    EXPECT_ABORT(
        {
            runtime rt({.procs = 1});
            auto c = std::make_unique<chan<int>>();
            auto d = std::make_unique<chan<int>>();
            rt.go([&first = *c, &second = *d] { select(on_recv(first, [](auto) {}), on_send(second, 1, [] {})); });
            while (rt.stats().parks == 0) std::this_thread::yield();
            d.reset();
        },
        fatal_line("the last handle of a weft::chan was destroyed while a thread waited on it; give each green thread "
                   "its own copy"));
}

}  // namespace
}  // namespace weft::test
