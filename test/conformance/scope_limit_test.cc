// scope_limit_test.cc: a scope that runs at most so many green threads at a time.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using ScopeLimit = procs_test;
WEFT_SWEEP(ScopeLimit);

// Counts how many are inside at a time.
class crowd {
public:
    void visit() {
        const int now = ++inside_;
        int seen = most_;
        while (now > seen && !most_.compare_exchange_weak(seen, now)) continue;
        weft::sleep_for(50us);
        weft::yield();
        --inside_;
    }

    [[nodiscard]] int most() const { return most_; }

private:
    std::atomic<int> inside_ = 0;
    std::atomic<int> most_ = 0;
};

TEST_P(ScopeLimit, NoMoreThanThatRunAtATime) {
    rt().run([] {
        for (const std::ptrdiff_t limit : {1, 3, 1000}) {
            crowd all;
            std::atomic<int> ran = 0;
            const int n = scaled(200);
            scope([&](task_scope& s) {
                s.limit(limit);
                std::vector<future<void>> results;
                for (int i = 0; i < n; ++i) {
                    const auto body = [&] {
                        all.visit();
                        ++ran;
                    };
                    if (i % 2 == 0) {
                        s.go(body);
                    } else {
                        results.push_back(s.async(body));
                    }
                }
            });
            EXPECT_EQ(ran, n);
            EXPECT_LE(all.most(), limit);
            EXPECT_GE(all.most(), std::min<std::ptrdiff_t>(limit, 2));
        }
    });
}

TEST_P(ScopeLimit, APlaceIsFreeAgainAfterAnException) {
    rt().run([] {
        scope([&](task_scope& s) {
            s.limit(1);
            for (int i = 0; i < 10; ++i) {
                future<int> failed = s.async([]() -> int { throw std::runtime_error("broken"); });
                EXPECT_THROW(static_cast<void>(failed.get()), std::runtime_error);
            }
        });
    });
}

TEST_P(ScopeLimit, AnErrorEndsTheWaitForAPlace) {
    rt().run([] {
        EXPECT_THROW(scope([&](task_scope& s) {
                         s.limit(2);
                         s.go([&] { weft::sleep_for(1h); });
                         s.go([&] {
                             weft::sleep_for(1ms);
                             throw std::runtime_error("broken");
                         });
                         for (int i = 0; i < 100; ++i) s.go([&] { weft::sleep_for(1h); });
                     }),
                     std::runtime_error);
    });
}

TEST_P(ScopeLimit, WrongLimitsAreRefused) {
    rt().run([] {
        scope([](task_scope& s) {
            EXPECT_THROW(s.limit(0), std::invalid_argument);
            EXPECT_THROW(s.limit(-1), std::invalid_argument);
            s.limit(PTRDIFF_MAX);
            EXPECT_THROW(s.limit(2), std::logic_error);
            s.go([] {});
        });
    });
}

TEST_P(ScopeLimit, FuturesOfAScopeMayHaveOptions) {
    rt().run([] {
        scope([](task_scope& s) {
            future<bool> named = s.async({.name = "worker"}, [] { return this_g::name() == "worker"; });
            EXPECT_TRUE(named.get());
        });
    });
}

TEST_P(ScopeLimit, GreenThreadsStartedBeforeDoNotRaiseIt) {
    rt().run([] {
        crowd all;
        scope([&](task_scope& s) {
            for (int i = 0; i < 5; ++i) s.go([] { weft::sleep_for(1ms); });
            s.limit(2);
            for (int i = 0; i < 30; ++i) s.go([&] { all.visit(); });
        });
        EXPECT_LE(all.most(), 2);
        scope([](task_scope& s) {
            s.go([] { weft::sleep_for(100us); });
            s.limit(PTRDIFF_MAX);
        });
    });
}

// The scope waits for a thread that waits for a place, as it waits for what that thread will start.
TEST_P(ScopeLimit, AScopeDoesNotEndWhileAThreadWaitsForAPlace) {
    rt().run([] {
        for (int round = 0; round < scaled(100); ++round) {
            std::atomic<int> ran = 0;
            wait_group outside;
            event may_end;
            scope([&](task_scope& s) {
                s.limit(1);
                const uint64_t parks = stats().parks;
                s.go([&] { may_end.wait(); });
                for (int i = 0; i < 3; ++i) {
                    outside.go([&] { s.go([&] { ++ran; }); });
                }
                while (stats().parks < parks + 4) weft::yield();  // until it and the three wait
                may_end.set();
            });
            outside.wait();
            EXPECT_EQ(ran, 3);
        }
    });
}

}  // namespace
}  // namespace weft::test
