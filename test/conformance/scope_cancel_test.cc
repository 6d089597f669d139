// scope_cancel_test.cc: cancelling scopes: from where, how far it reaches, and the resulting value
// or exception.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/for_ever.h"
#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using ScopeCancel = procs_test;
WEFT_SWEEP(ScopeCancel);

TEST_P(ScopeCancel, ItsFunctionMayCancelAndTheScopeEndsNormally) {
    std::atomic<int> cancelled_waits = 0;
    rt().run([&] {
        scope([&](task_scope& s) {
            for (int i = 0; i < 10; ++i)
                s.go([&] { cancelled_waits += ending_of(wait_for_ever) == ending::cancelled; });
            for (int i = 0; i < 10; ++i) s.go(wait_for_ever);
            EXPECT_FALSE(s.cancelled());
            s.cancel();
            EXPECT_TRUE(s.cancelled());
            s.cancel();
            wait_for_ever();
        });
    });
    EXPECT_EQ(cancelled_waits, 10);
}

TEST_P(ScopeCancel, AChildMayCancel) {
    std::atomic<bool> behind = false;
    rt().run([&] {
        scope([&](task_scope& s) {
            s.go(wait_for_ever);
            s.go([&s] { s.cancel(); });
            wait_for_ever();
            behind = true;
        });
    });
    EXPECT_FALSE(behind);
}

TEST_P(ScopeCancel, APlainThreadAndAnotherRuntimeMayCancel) {
    runtime other({.procs = 1});
    for (const bool plain : {true, false}) {
        std::atomic<task_scope*> shared = nullptr;
        std::atomic<int> cancelled_waits = 0;
        std::atomic<bool> asked = false;
        auto f = rt().async([&] {
            scope([&](task_scope& s) {
                s.go([&] { cancelled_waits += ending_of(wait_for_ever) == ending::cancelled; });
                shared = &s;
                eventually([&] { return asked.load(); });  // the scope lives as long as others may use it
                cancelled_waits += ending_of(wait_for_ever) == ending::cancelled;
            });
        });
        eventually([&] { return shared != nullptr; });
        const auto cancel = [&] {
            shared.load()->cancel();
            asked = true;
        };
        if (plain) {
            cancel();
        } else {
            other.run(cancel);
        }
        f.get();
        EXPECT_EQ(cancelled_waits, 2);
    }
}

// A function with a result: an interrupted one throws, any other returns its value.
TEST_P(ScopeCancel, ACancelledFunctionMayReturnItsResult) {
    rt().run([] {
        EXPECT_EQ(scope([](task_scope& s) {
                      s.go(wait_for_ever);
                      s.cancel();
                      return 5;
                  }),
                  5);
        EXPECT_THROW(static_cast<void>(scope([](task_scope& s) {
                         s.cancel();
                         wait_for_ever();
                         return 5;
                     })),
                     cancelled);
        EXPECT_THROW(static_cast<void>(scope([](task_scope& s) {
                         s.go([] { throw std::out_of_range("frayed"); });
                         return 5;
                     })),
                     std::out_of_range);
    });
}

TEST_P(ScopeCancel, AnotherExceptionAfterCancellationIsThrown) {
    rt().run([] {
        EXPECT_THROW(scope([](task_scope& s) {
                         s.go([] {
                             try {
                                 wait_for_ever();
                             } catch (const cancelled&) {
                                 throw std::out_of_range("could not roll back");
                             }
                         });
                         s.cancel();
                     }),
                     std::out_of_range);
    });
}

TEST_P(ScopeCancel, AGreenThreadStartedAfterItRunsUntilItsFirstWait) {
    std::atomic<int> started = 0;
    std::atomic<int> beyond = 0;
    rt().run([&] {
        scope([&](task_scope& s) {
            s.cancel();
            for (int i = 0; i < 5; ++i) {
                s.go([&] {
                    ++started;
                    wait_for_ever();
                    ++beyond;
                });
                auto f = s.async([&] {
                    ++started;
                    wait_for_ever();
                });
                EXPECT_EQ(shield([&] { return ending_of([&] { f.get(); }); }), ending::cancelled);
            }
        });
    });
    EXPECT_EQ(started, 10);
    EXPECT_EQ(beyond, 0);
}

TEST_P(ScopeCancel, AScopeInACancelledContextStartsCancelled) {
    std::atomic<int> cancelled_waits = 0;
    rt().run([&] {
        scope([&](task_scope& outer) {
            outer.cancel();
            EXPECT_THROW(scope([&](task_scope& inner) {
                             EXPECT_TRUE(inner.cancelled());
                             inner.go([&] { cancelled_waits += ending_of(wait_for_ever) == ending::cancelled; });
                             wait_for_ever();
                         }),
                         cancelled);
        });
        EXPECT_EQ(ending_of([&] {
                      with_timeout(0s, [&] {
                          scope([&](task_scope& inner) {
                              EXPECT_TRUE(inner.cancelled());
                              inner.go([&] { cancelled_waits += ending_of(wait_for_ever) == ending::timed_out; });
                          });
                          scope([](task_scope&) { wait_for_ever(); });
                      });
                  }),
                  ending::timed_out);
    });
    EXPECT_EQ(cancelled_waits, 2);
}

// A scope that is interrupted from outside throws that, even if its function did not wait.
TEST_P(ScopeCancel, AnOuterInterruptionIsRethrown) {
    std::stop_source source;
    std::optional<future<ending>> f;
    park(2, [&] {
        f = rt().async([&] {
            return ending_of([&] {
                with_stop_token(source.get_token(), [] { scope([](task_scope& s) { s.go(wait_for_ever); }); });
            });
        });
    });
    source.request_stop();
    EXPECT_EQ(f->get(), ending::cancelled);
    EXPECT_EQ(rt().run([] {
        return ending_of([] { with_timeout(500us, [] { scope([](task_scope& s) { s.go(wait_for_ever); }); }); });
    }),
              ending::timed_out);
}

TEST_P(ScopeCancel, ADeadlineAroundItReachesItsGreenThreads) {
    std::atomic<int> late = 0;
    rt().run([&] {
        with_timeout(1ms, [&] {
            scope([&](task_scope& s) {
                for (int i = 0; i < 5; ++i) {
                    s.go([&] { late += ending_of([] { with_timeout(1h, wait_for_ever); }) == ending::timed_out; });
                }
                // No wait here: the timeout would end the scope, and cancel those that have not
                // noticed it yet.
            });
        });
    });
    EXPECT_EQ(late, 5);
}

TEST_P(ScopeCancel, ASingleFutureOfAScopeMayBeCancelled) {
    rt().run([] {
        scope([](task_scope& s) {
            auto one = s.async(wait_for_ever);
            auto other = s.async([] {
                sleep_for(300us);
                return 1;
            });
            one.cancel();
            EXPECT_EQ(ending_of([&] { one.get(); }), ending::cancelled);
            EXPECT_FALSE(s.cancelled());
            EXPECT_EQ(other.get(), 1);
        });
    });
}

TEST_P(ScopeCancel, SiblingsAndParentsAreNotReached) {
    rt().run([] {
        const chan<int> c;
        scope([&](task_scope& outer) {
            outer.go([&] { EXPECT_EQ(c.recv(), 1); });
            outer.go([&] {
                scope([](task_scope& inner) {
                    inner.go(wait_for_ever);
                    inner.cancel();
                });
                sleep_for(10us);
                c.send(1);
            });
            sleep_for(10us);
            EXPECT_FALSE(outer.cancelled());
        });
    });
}

// ---- Width and depth.

TEST_P(ScopeCancel, ManyGreenThreadsEnd) {
    const int n = scaled(10'000);
    std::atomic<int> ended = 0;
    rt().run([&] {
        const chan<int> c;
        scope([&](task_scope& s) {
            for (int i = 0; i < n; ++i) {
                s.go([&, i] {
                    ended += ending_of([&] {
                                 if (i % 3 == 0) return static_cast<void>(c.recv());
                                 if (i % 3 == 1) return static_cast<void>(select(recv_case(c), recv_case(c)));
                                 sleep_for(1h);
                             }) == ending::cancelled;
                });
            }
            for (int i = 0; i < 3; ++i) weft::yield();
            s.cancel();
        });
    });
    EXPECT_EQ(ended, n);
}

// A chain of scopes, each in a green thread of the outer one, cancelled from its middle or from
// outside.
class DeepScopes : public procs_test {
protected:
    const int depth_ = scaled(10'000);
    std::atomic<int> ended_{0};
    std::atomic<task_scope*> outermost_{nullptr};

    // Calls leaf at the bottom.
    void descend(int level, const std::function<void()>& leaf) {
        if (level == depth_) return leaf();

        struct count {
            std::atomic<int>& ended;

            ~count() { ++ended; }
        } const at_end{ended_};

        scope([&](task_scope& s) {
            if (level == 0) outermost_ = &s;
            s.go([&] { descend(level + 1, leaf); });
        });
    }
};

WEFT_SWEEP_OVER(DeepScopes, 1U, 4U);

TEST_P(DeepScopes, ACancellationReachesTheInnermost) {
    std::atomic<bool> at_the_bottom = false;
    auto f = rt().async([&] {
        descend(0, [&] {
            at_the_bottom = true;
            wait_for_ever();
        });
    });
    eventually([&] { return at_the_bottom.load(); });
    f.cancel();
    EXPECT_EQ(ending_of([&] { f.get(); }), ending::cancelled);
    EXPECT_EQ(ended_, depth_);
}

TEST_P(DeepScopes, AGreenThreadWithASmallStackMayCancelThem) {
    std::atomic<bool> at_the_bottom = false;
    auto f = rt().async([&] {
        descend(0, [&] {
            at_the_bottom = true;
            wait_for_ever();
        });
    });
    eventually([&] { return at_the_bottom.load(); });
    rt().async({.stack_size = 16 * 1024}, [&] { f.cancel(); }).get();
    EXPECT_EQ(ending_of([&] { f.get(); }), ending::cancelled);
    EXPECT_EQ(ended_, depth_);
}

TEST_P(DeepScopes, TheInnermostMayCancelTheOutermost) {
    rt().run([&] {
        descend(0, [&] {
            outermost_.load()->cancel();
            wait_for_ever();
        });
    });
    EXPECT_EQ(ended_, depth_);
}

TEST_P(DeepScopes, AnExceptionReachesTheOutermost) {
    EXPECT_THROW(rt().run([&] { descend(0, [] { throw std::out_of_range("from the depth"); }); }), std::out_of_range);
    EXPECT_EQ(ended_, depth_);
}

TEST_P(DeepScopes, ADeadlineReachesTheInnermost) {
    EXPECT_EQ(ending_of([&] { rt().run([&] { with_timeout(20ms, [&] { descend(0, wait_for_ever); }); }); }),
              ending::timed_out);
    EXPECT_GT(ended_, 0);
}

}  // namespace
}  // namespace weft::test
