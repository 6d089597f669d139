// cancel_deadline_test.cc: with_timeout and with_deadline: how they nest, what they return, when
// they expire.

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/eventually.h"
#include "support/for_ever.h"
#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using CancelDeadline = procs_test;
WEFT_SWEEP(CancelDeadline);

static_assert(!std::is_base_of_v<std::exception, cancelled>);
static_assert(!std::is_base_of_v<std::exception, timed_out>);

TEST_P(CancelDeadline, ReturnsWhatTheFunctionReturns) {
    rt().run([] {
        int target = 1;
        const auto refer = [&]() -> int& { return target; };
        EXPECT_EQ(&with_timeout(1h, refer), &target);
        EXPECT_EQ(&with_deadline(steady_clock::now(), refer), &target);
        EXPECT_EQ(with_timeout(0s, [] { return std::string("woven"); }), "woven");
        EXPECT_EQ(*with_timeout(1h, [] { return std::make_unique<int>(7); }), 7);
        with_deadline(steady_clock::now() + 1h, [] {});
        EXPECT_EQ(with_timeout(1h, [b = std::make_unique<int>(3)]() mutable { return *std::move(b); }), 3);
    });
}

TEST_P(CancelDeadline, AnExceptionOfTheFunctionPassesThrough) {
    rt().run([] {
        EXPECT_THROW(with_timeout(1h, [] { throw std::out_of_range("frayed"); }), std::out_of_range);
        sleep_for(10us);  // and the deadline is gone
    });
}

TEST_P(CancelDeadline, IsNeverEarlyAndCountsFromTheCall) {
    rt().run([] {
        for (const auto limit : {1us, 100us, 5000us}) {
            const auto start = steady_clock::now();
            EXPECT_EQ(ending_of([&] {
                          with_timeout(limit, [] {
                              // Many short waits: their sum counts.
                              for (;;) static_cast<void>(chan<int>().recv_for(20us));
                          });
                      }),
                      ending::timed_out);
            EXPECT_GE(steady_clock::now() - start, limit);
        }
    });
}

TEST_P(CancelDeadline, TheEarliestOfNestedDeadlinesCounts) {
    rt().run([] {
        EXPECT_EQ(ending_of([] { with_timeout(1ms, [] { with_timeout(1h, wait_for_ever); }); }), ending::timed_out);
        bool inner = false;
        const auto start = steady_clock::now();
        EXPECT_EQ(ending_of([&] {
                      with_timeout(8ms, [&] {
                          inner = ending_of([] { with_timeout(1ms, wait_for_ever); }) == ending::timed_out;
                          EXPECT_LT(steady_clock::now() - start, 1h);
                          wait_for_ever();  // until the outer deadline
                      });
                  }),
                  ending::timed_out);
        EXPECT_TRUE(inner);
        EXPECT_GE(steady_clock::now() - start, 8ms);
    });
}

TEST_P(CancelDeadline, ManyLevelsNest) {
    rt().run([] {
        for (int shortest = 0; shortest < 10; ++shortest) {
            int caught = -1;
            const std::function<void(int)> descend = [&](int level) {
                if (level == 10) wait_for_ever();
                try {
                    with_timeout(level == shortest ? std::chrono::milliseconds(1) : 1h, [&] { descend(level + 1); });
                } catch (const timed_out&) {
                    // Outside the `with_timeout` that expired, the caller can wait again.
                    if (ending_of([] { throw_if_cancelled(); }) != ending::served) throw;
                    caught = level;
                    throw;
                }
            };
            EXPECT_THROW(descend(0), timed_out);
            EXPECT_EQ(caught, 0);
        }
    });
}

TEST_P(CancelDeadline, HasNoEffectAfterItsBlock) {
    rt().run([] {
        const chan<int> c;
        EXPECT_EQ(ending_of([] { with_timeout(1us, wait_for_ever); }), ending::timed_out);
        EXPECT_EQ(c.recv_for(1ms).status, chan_status::timed_out);
        go([c] { c.send(1); });
        EXPECT_EQ(c.recv(), 1);
        with_timeout(1ms, [] {});
        sleep_for(2ms);
    });
}

TEST_P(CancelDeadline, EveryWaitAfterExpiryThrows) {
    rt().run([] {
        const int struck = with_timeout(0s, [] {
            int n = 0;
            for (int i = 0; i < 100; ++i) n += ending_of(wait_for_ever) == ending::timed_out;
            return n;
        });
        EXPECT_EQ(struck, 100);
    });
}

TEST_P(CancelDeadline, CatchingStandardExceptionsDoesNotStopIt) {
    rt().run([] {
        EXPECT_THROW(with_timeout(1us,
                                  [] {
                                      for (;;) {
                                          try {
                                              wait_for_ever();
                                          } catch (const std::exception&) {}
                                      }
                                  }),
                     timed_out);
        try {
            with_timeout(0s, wait_for_ever);
        } catch (const timed_out& e) {
            EXPECT_STREQ(e.what(), "weft: deadline passed");
        }
    });
}

TEST_P(CancelDeadline, ATimeoutOfTheWaitItselfIsReturned) {
    rt().run([] {
        const chan<int> c;
        with_timeout(1h, [&] {
            EXPECT_EQ(c.recv_for(500us).status, chan_status::timed_out);
            EXPECT_EQ(c.send_for(1, 500us), chan_status::timed_out);
            EXPECT_EQ(select(recv_case(c), timeout_case(500us)).index(), 1U);
        });
        EXPECT_EQ(ending_of([&] { with_timeout(500us, [&] { return c.recv_for(1h).status; }); }), ending::timed_out);
        EXPECT_EQ(
            ending_of([&] { with_timeout(500us, [&] { return select(recv_case(c), timeout_case(1h)).index(); }); }),
            ending::timed_out);
    });
}

TEST_P(CancelDeadline, TimesBeyondTheClockMeanNone) {
    using std::chrono::duration;
    rt().run([] {
        const auto waits = [](auto limit) {
            return with_timeout(limit, [] {
                sleep_for(1us);
                return chan<int>().recv_for(100us).status == chan_status::timed_out;
            });
        };
        EXPECT_TRUE(waits(std::chrono::hours::max()));
        EXPECT_TRUE(waits(std::chrono::nanoseconds::max()));
        EXPECT_TRUE(waits(std::chrono::years::max()));
        EXPECT_TRUE(waits(duration<double>(1e300)));
        EXPECT_TRUE(waits(duration<double>(std::numeric_limits<double>::infinity())));
        const auto waits_until = [](auto when) {
            return with_deadline(when, [] { return chan<int>().recv_for(100us).status == chan_status::timed_out; });
        };
        EXPECT_TRUE(waits_until(steady_clock::time_point::max()));
        EXPECT_TRUE(waits_until(std::chrono::system_clock::time_point::max()));
        EXPECT_TRUE(waits_until(std::chrono::system_clock::now() + 1h));
    });
}

TEST_P(CancelDeadline, TimesBelowTheClockCountAsPast) {
    using std::chrono::duration;
    rt().run([] {
        const auto past = [](auto limit) {
            return ending_of([&] { with_timeout(limit, wait_for_ever); }) == ending::timed_out;
        };
        EXPECT_TRUE(past(0s));
        EXPECT_TRUE(past(std::chrono::hours::min()));
        EXPECT_TRUE(past(duration<double>(-1e300)));
        EXPECT_TRUE(past(std::chrono::nanoseconds::min()));
        const auto past_at = [](auto when) {
            return ending_of([&] { with_deadline(when, wait_for_ever); }) == ending::timed_out;
        };
        EXPECT_TRUE(past_at(steady_clock::time_point::min()));
        EXPECT_TRUE(past_at(steady_clock::time_point{}));
        EXPECT_TRUE(past_at(std::chrono::system_clock::time_point::min()));
        EXPECT_TRUE(past_at(std::chrono::system_clock::now() - 1s));
    });
}

// Green threads started by a plain go() or async() are independent.
TEST_P(CancelDeadline, DoesNotApplyToGreenThreadsStartedInIt) {
    const chan<int> gate;
    std::optional<future<ending>> f;
    std::atomic<int> ends = 0;
    wait_group members;
    rt().run([&] {
        EXPECT_EQ(ending_of([&] {
                      with_timeout(1ms, [&] {
                          f = async([&] { return ending_of([&] { gate.recv(); }); });
                          go([&] { ends += ending_of([&] { gate.recv(); }) == ending::served; });
                          members.go([&] { ends += ending_of([&] { gate.recv(); }) == ending::served; });
                          wait_for_ever();
                      });
                  }),
                  ending::timed_out);
    });
    for (int i = 0; i < 3; ++i) gate.send(1);
    EXPECT_EQ(f->get(), ending::served);
    members.wait();
    rt().drain();
    EXPECT_EQ(ends, 2);
}

// A deadline belongs to its green thread, on whatever thread that runs.
TEST_P(CancelDeadline, BelongsToTheGreenThreadNotToItsOsThread) {
    const int n = scaled(500);
    std::atomic<int> wrong = 0;
    for (int i = 0; i < n; ++i) {
        rt().go([&wrong, i] {
            if (i % 2 == 0) {
                const chan<int> c;
                for (int k = 0; k < 5; ++k) {
                    weft::yield();
                    wrong += c.recv_for(100us).status != chan_status::timed_out;
                }
            } else {
                wrong += ending_of([] {
                             with_timeout(300us, [] {
                                 for (;;) {
                                     weft::yield();
                                     sleep_for(10us);
                                 }
                             });
                         }) != ending::timed_out;
            }
        });
    }
    rt().drain();
    EXPECT_EQ(wrong, 0);
}

TEST_P(CancelDeadline, ADeadlineInARunDoesNotInterruptItsCaller) {
    EXPECT_EQ(ending_of([&] { rt().run([] { with_timeout(100us, wait_for_ever); }); }), ending::timed_out);
    static_cast<void>(chan<int>().recv_for(1ms));
}

TEST_P(CancelDeadline, ManyDeadlinesInALoopUseNoMoreMemory) {
    const int rounds = scaled(100'000);
    const auto loop = [](int n) {
        const chan<int> c;
        const chan<int> back;
        go([=] {
            for (const int v : c) back.send(v);
        });
        for (int i = 0; i < n; ++i) {
            with_timeout(1h, [&] {
                c.send(i);
                back.recv();
            });
        }
        c.close();
    };
    rt().run([&] { loop(rounds / 10); });
    const std::size_t before = resources::now().resident_kib;
    rt().run([&] { loop(rounds); });
    // Pages of a sanitizer or an emulator (translated code, page metadata) are resident too.
    if (!built_with_sanitizer && untouched_pages_are_free()) {
        EXPECT_LE(resources::now().resident_kib, before + 1024);
    }
}

// ---- throw_if_cancelled.

TEST_P(CancelDeadline, ThrowIfCancelledThrowsAfterExpiry) {
    rt().run([] {
        throw_if_cancelled();
        with_timeout(1h, [] { throw_if_cancelled(); });
        EXPECT_THROW(with_timeout(0s, [] { throw_if_cancelled(); }), timed_out);
        const auto start = steady_clock::now();
        EXPECT_THROW(with_timeout(2ms,
                                  [] {
                                      for (;;) throw_if_cancelled();
                                  }),
                     timed_out);
        EXPECT_GE(steady_clock::now() - start, 2ms);
        EXPECT_THROW(with_timeout(2ms,
                                  [] {
                                      for (;;) {
                                          with_timeout(1h, [] { throw_if_cancelled(); });
                                          weft::yield();
                                      }
                                  }),
                     timed_out);
    });
    EXPECT_THROW(with_timeout(0s, [] { throw_if_cancelled(); }), timed_out);  // a plain thread
}

}  // namespace
}  // namespace weft::test
