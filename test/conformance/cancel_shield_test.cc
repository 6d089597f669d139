// cancel_shield_test.cc: code that runs to completion past its deadline: shielded code, and
// destructors while an exception unwinds the stack.

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/for_ever.h"
#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using CancelShield = procs_test;
WEFT_SWEEP(CancelShield);

// Sends v from a separate green thread, a little later.
chan<int> delivered_later(int v) {
    const chan<int> c;
    go([c, v] {
        sleep_for(200us);
        c.send(v);
    });
    return c;
}

TEST_P(CancelShield, ProtectsWaitsFromOuterCancellations) {
    rt().run([] {
        with_timeout(0s, [] {
            const chan<int> c = delivered_later(4);
            EXPECT_EQ(shield([&] { return c.recv(); }), 4);
            shield([] { throw_if_cancelled(); });
            shield([] { sleep_for(100us); });
            EXPECT_EQ(ending_of(wait_for_ever), ending::timed_out);  // after the shield the deadline counts again
        });
    });
}

TEST_P(CancelShield, ACancellationDuringItTakesEffectAfterIt) {
    const chan<int> c;
    std::optional<future<void>> f;
    std::optional<int> got;
    std::atomic<bool> reached_the_end = false;
    park(1, [&] {
        f = rt().async([&] {
            shield([&] { got = c.recv(); });
            reached_the_end = true;
            wait_for_ever();
        });
    });
    f->cancel();
    for (int i = 0; i < 20; ++i) rt().run([] { weft::yield(); });
    EXPECT_FALSE(f->is_ready());
    c.send(3);
    EXPECT_THROW(f->get(), cancelled);
    EXPECT_EQ(got, 3);
    EXPECT_TRUE(reached_the_end);
}

TEST_P(CancelShield, InnerDeadlinesAndScopesTakeEffect) {
    rt().run([] {
        with_timeout(0s, [] {
            shield([] {
                EXPECT_EQ(ending_of([] { with_timeout(500us, wait_for_ever); }), ending::timed_out);
                sleep_for(1us);
                std::atomic<int> ran = 0;
                scope([&](task_scope& s) {
                    EXPECT_FALSE(s.cancelled());
                    s.go([&] {
                        sleep_for(1us);
                        ++ran;
                    });
                    sleep_for(1us);
                });
                EXPECT_EQ(ran, 1);
            });
        });
    });
}

TEST_P(CancelShield, ReturnsAndThrowsWhatItsFunctionDoes) {
    int target = 0;
    EXPECT_EQ(&shield([&]() -> int& { return target; }), &target);
    EXPECT_EQ(*shield([] { return std::make_unique<int>(2); }), 2);
    EXPECT_THROW(shield([] { throw 7; }), int);
    shield([] {});
}

TEST_P(CancelShield, ShieldsAPlainThread) {
    with_timeout(0s, [&] {
        const chan<int> c;
        rt().go([c] {
            sleep_for(200us);
            c.send(1);
        });
        EXPECT_EQ(shield([&] { return c.recv(); }), 1);
        EXPECT_EQ(ending_of(wait_for_ever), ending::timed_out);
    });
}

// ---- Destructors.

// Waits for a value in its destructor, like an object that says goodbye.
struct goodbye {
    const chan<int>& from;
    std::optional<int>& got;
    int& uncaught;

    ~goodbye() {
        uncaught = std::uncaught_exceptions();
        throw_if_cancelled();
        got = from.recv();
    }
};

TEST_P(CancelShield, ADestructorMayWaitDuringUnwinding) {
    rt().run([] {
        std::optional<int> got;
        int uncaught = 0;
        EXPECT_EQ(ending_of([&] {
                      with_timeout(100us, [&] {
                          const chan<int> c = delivered_later(5);
                          const goodbye at_end{c, got, uncaught};
                          wait_for_ever();
                      });
                  }),
                  ending::timed_out);
        EXPECT_EQ(got, 5);
        EXPECT_EQ(uncaught, 1);
    });
}

TEST_P(CancelShield, ACancellationDuringUnwindingDoesNotInterruptIt) {
    const chan<int> c;
    std::optional<int> got;
    int uncaught = 0;
    std::optional<future<void>> f;
    park(1, [&] {
        f = rt().async([&] {
            const goodbye at_end{c, got, uncaught};
            throw std::runtime_error("unravelled");
        });
    });
    f->cancel();
    for (int i = 0; i < 20; ++i) rt().run([] { weft::yield(); });
    EXPECT_FALSE(f->is_ready());
    c.send(9);
    EXPECT_THROW(f->get(), std::runtime_error);
    EXPECT_EQ(got, 9);
    EXPECT_EQ(uncaught, 1);
}

TEST_P(CancelShield, ADestructorOnAPlainThreadMayWait) {
    const chan<int> c;
    std::optional<int> got;
    int uncaught = 0;
    rt().go([c] {
        sleep_for(500us);
        c.send(6);
    });
    EXPECT_EQ(ending_of([&] {
                  with_timeout(0s, [&] {
                      const goodbye at_end{c, got, uncaught};
                      wait_for_ever();
                  });
              }),
              ending::timed_out);
    EXPECT_EQ(got, 6);
}

// Unwinding shields only its own green thread: others on the same processor are still interrupted.
TEST_P(CancelShield, UnwindingShieldsOnlyItsOwnGreenThread) {
    const chan<int> c;
    std::optional<int> got;
    int uncaught = 0;
    std::optional<future<void>> unwinding;
    std::optional<future<void>> other;
    park(2, [&] {
        unwinding = rt().async([&] {
            const goodbye at_end{c, got, uncaught};
            throw 1;
        });
        other = rt().async(wait_for_ever);
    });
    other->cancel();
    EXPECT_THROW(other->get(), cancelled);
    EXPECT_EQ(rt().run([] { return ending_of([] { with_timeout(1us, wait_for_ever); }); }), ending::timed_out);
    EXPECT_FALSE(unwinding->is_ready());
    c.send(1);
    EXPECT_THROW(unwinding->get(), int);
}

// In a handler, the exception has been caught.
TEST_P(CancelShield, ACatchHandlerIsInterrupted) {
    rt().run([] {
        EXPECT_EQ(ending_of([] {
                      with_timeout(500us, [] {
                          try {
                              throw 1;
                          } catch (int) {
                              wait_for_ever();
                          }
                      });
                  }),
                  ending::timed_out);
    });
}

// A deadline that a destructor puts around its own waits counts during unwinding, too.
struct bounded_goodbye {
    ending& e;

    ~bounded_goodbye() {
        e = ending_of([] { with_timeout(500us, wait_for_ever); });
    }
};

TEST_P(CancelShield, ADestructorMayBoundItsWait) {
    rt().run([] {
        ending e = ending::served;
        EXPECT_EQ(ending_of([&] {
                      with_timeout(100us, [&] {
                          const bounded_goodbye at_end{e};
                          wait_for_ever();
                      });
                  }),
                  ending::timed_out);
        EXPECT_EQ(e, ending::timed_out);
    });
}

}  // namespace
}  // namespace weft::test
