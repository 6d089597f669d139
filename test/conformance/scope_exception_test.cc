// scope_exception_test.cc: exceptions that leave the parts of a scope, and futures of a scope.

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/captured.h"
#include "support/eventually.h"
#include "support/for_ever.h"
#include "support/hook_counter.h"
#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using ScopeException = procs_test;
WEFT_SWEEP(ScopeException);

TEST_P(ScopeException, TheFirstExceptionCancelsTheOthersAndIsThrown) {
    for (const bool by_function : {true, false}) {
        std::atomic<int> cancelled_waits = 0;
        rt().run([&] {
            EXPECT_THROW(scope([&](task_scope& s) {
                             for (int i = 0; i < 10; ++i) {
                                 s.go([&] {
                                     try {
                                         wait_for_ever();
                                     } catch (const cancelled&) {
                                         ++cancelled_waits;
                                         throw;
                                     }
                                 });
                             }
                             weft::yield();
                             if (by_function) throw std::out_of_range("frayed");
                             s.go([] { throw std::out_of_range("frayed"); });
                             wait_for_ever();
                         }),
                         std::out_of_range);
        });
        EXPECT_EQ(cancelled_waits, 10);
    }
}

TEST_P(ScopeException, TheReportOfAFurtherExceptionNamesTheScope) {
    const std::string reported = stderr_of([&] {
        rt().run([] {
            EXPECT_THROW(scope([](task_scope& s) {
                             s.go([] { throw std::out_of_range("the first"); });
                             s.go([] {
                                 static_cast<void>(ending_of(wait_for_ever));
                                 throw std::runtime_error("the second");
                             });
                         }),
                         std::out_of_range);
        });
    });
    EXPECT_EQ(reported,
              "weft: an exception in a weft::scope was dropped, because the scope throws only its first one (catch it "
              "in the green thread): the second\n");
}

TEST_P(ScopeException, FurtherExceptionsAreCountedAndReported) {
    const hook_counter hook;
    rt().run([] {
        EXPECT_THROW(scope([](task_scope& s) {
                         s.go([] { throw std::out_of_range("the first"); });
                         eventually([&] { return s.cancelled(); });
                         EXPECT_EQ(s.further_exceptions(), 0U);
                         s.go([] { throw std::runtime_error("the second"); });
                         eventually([&] { return s.further_exceptions() == 1; });
                         throw std::runtime_error("the third");
                     }),
                     std::out_of_range);
    });
    EXPECT_EQ(hook.errors(), 2);
    EXPECT_EQ(hook.others(), 0);
}

TEST_P(ScopeException, CausedCancellationsAreNeitherCountedNorReported) {
    const hook_counter hook;
    rt().run([] {
        EXPECT_THROW(scope([](task_scope& s) {
                         for (int i = 0; i < 5; ++i) s.go(wait_for_ever);
                         weft::yield();
                         s.go([] { throw std::out_of_range("frayed"); });
                         eventually([&] { return s.cancelled(); });
                         for (int i = 0; i < 5; ++i) s.go(wait_for_ever);
                         EXPECT_EQ(s.further_exceptions(), 0U);
                         wait_for_ever();
                     }),
                     std::out_of_range);
        EXPECT_EQ(ending_of([] {
                      with_timeout(500us, [] {
                          scope([](task_scope& s) {
                              for (int i = 0; i < 5; ++i) s.go(wait_for_ever);
                              wait_for_ever();
                          });
                      });
                  }),
                  ending::timed_out);
    });
    EXPECT_EQ(hook.errors() + hook.others(), 0);
}

TEST_P(ScopeException, EveryFurtherExceptionIsReported) {
    const hook_counter hook;
    const int n = scaled(500);
    int thrown = 0;
    rt().run([&] {
        try {
            scope([&](task_scope& s) {
                for (int i = 0; i < n; ++i) {
                    s.go([i] {
                        if (i % 2 == 0) weft::yield();
                        throw std::runtime_error("a message that is long enough to be allocated");
                    });
                }
            });
        } catch (const std::runtime_error&) {
            ++thrown;
        }
    });
    EXPECT_EQ(thrown, 1);
    EXPECT_EQ(hook.errors(), n - 1);
    EXPECT_EQ(hook.others(), 0);
}

TEST_P(ScopeException, AnExceptionPassesThroughNestedScopes) {
    std::atomic<int> cancelled_waits = 0;
    rt().run([&] {
        EXPECT_THROW(scope([&](task_scope& outer) {
                         outer.go([&] { cancelled_waits += ending_of(wait_for_ever) == ending::cancelled; });
                         outer.go([&] {
                             scope([&](task_scope& inner) {
                                 inner.go([&] { cancelled_waits += ending_of(wait_for_ever) == ending::cancelled; });
                                 inner.go([] { throw std::out_of_range("frayed"); });
                             });
                         });
                         wait_for_ever();
                     }),
                     std::out_of_range);
    });
    EXPECT_EQ(cancelled_waits, 2);
}

// An inner scope that fails, and whose exception is caught, does not affect the outer one.
TEST_P(ScopeException, ACaughtExceptionStaysInside) {
    rt().run([] {
        scope([](task_scope& outer) {
            outer.go([] {
                EXPECT_THROW(scope([](task_scope& inner) {
                                 inner.go([] { throw std::out_of_range("frayed"); });
                                 wait_for_ever();
                             }),
                             std::out_of_range);
                sleep_for(10us);
            });
            sleep_for(500us);
            EXPECT_FALSE(outer.cancelled());
        });
    });
}

// A wait inside that was interrupted for a reason of its own throws an ordinary exception.
TEST_P(ScopeException, AnUnrelatedInterruptionCountsAsAnException) {
    rt().run([] {
        EXPECT_EQ(ending_of([] {
                      scope([](task_scope& s) {
                          s.go([] { with_timeout(100us, wait_for_ever); });
                          wait_for_ever();
                      });
                  }),
                  ending::timed_out);
        EXPECT_EQ(ending_of([] {
                      scope([](task_scope& s) {
                          s.go([] {
                              auto f = async(wait_for_ever);
                              f.cancel();
                              f.get();
                          });
                          wait_for_ever();
                      });
                  }),
                  ending::cancelled);
    });
}

// ---- Futures of a scope.

TEST_P(ScopeException, AnExceptionOfAFutureDoesNotCancelTheScope) {
    rt().run([] {
        scope([](task_scope& s) {
            auto failed = s.async([]() -> int { throw std::out_of_range("frayed"); });
            auto fine = s.async([] {
                sleep_for(200us);
                return 2;
            });
            EXPECT_THROW(failed.get(), std::out_of_range);
            EXPECT_FALSE(s.cancelled());
            EXPECT_EQ(fine.get(), 2);
        });
    });
}

TEST_P(ScopeException, ItsFuturesMayOutliveIt) {
    rt().run([] {
        std::vector<future<std::unique_ptr<int>>> kept;
        scope([&](task_scope& s) {
            for (int i = 0; i < 20; ++i) {
                kept.push_back(s.async([i] {
                    sleep_for(std::chrono::microseconds(i));
                    return std::make_unique<int>(i);
                }));
            }
        });
        int sum = 0;
        for (auto& f : kept) {
            EXPECT_TRUE(f.is_ready());
            f.cancel();
            sum += *f.get();
        }
        EXPECT_EQ(sum, 190);
    });
}

TEST_P(ScopeException, DroppedFuturesOfACancelledScopeAreNotReported) {
    const hook_counter hook;
    rt().run([] {
        scope([](task_scope& s) {
            for (int i = 0; i < 5; ++i) static_cast<void>(s.async(wait_for_ever));
            weft::yield();
            s.cancel();
        });
        with_timeout(300us, [] {
            scope([](task_scope& s) {
                for (int i = 0; i < 5; ++i) static_cast<void>(s.async(wait_for_ever));
            });
        });
    });
    rt().drain();
    EXPECT_EQ(hook.errors() + hook.others(), 0);
}

}  // namespace
}  // namespace weft::test
