// scope_test.cc: green threads that end where they were started: joining, results, exceptions.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/captured.h"
#include "support/eventually.h"
#include "support/for_ever.h"
#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using Scope = procs_test;
WEFT_SWEEP(Scope);

static_assert(!std::is_copy_constructible_v<task_scope> && !std::is_move_constructible_v<task_scope>);
static_assert(std::is_void_v<decltype(scope([](task_scope&) {}))>);
static_assert(std::is_same_v<decltype(scope([](task_scope&) { return 1; })), int>);
static_assert(std::is_same_v<decltype(scope([](task_scope&) -> int& { throw 1; })), int&>);

// ---- Joining.

TEST_P(Scope, EndsWhenAllItsGreenThreadsHaveEnded) {
    const int n = scaled(1000);
    rt().run([n] {
        for (int round = 0; round < 5; ++round) {
            int sum = 0;  // plain: the end of the scope publishes it
            mutex m;
            scope([&](task_scope& s) {
                for (int i = 0; i < n; ++i) {
                    s.go([&, i] {
                        if (i % 3 == 0) weft::yield();
                        if (i % 50 == 0) sleep_for(100us);
                        const std::lock_guard hold(m);
                        sum += i;
                    });
                }
            });
            EXPECT_EQ(sum, n * (n - 1) / 2);
        }
    });
}

TEST_P(Scope, WithoutGreenThreadsItOnlyCallsItsFunction) {
    int target = 0;
    EXPECT_EQ(scope([](task_scope&) { return 4; }), 4);
    EXPECT_EQ(&scope([&](task_scope&) -> int& { return target; }), &target);
    EXPECT_EQ(*scope([](task_scope&) { return std::make_unique<int>(6); }), 6);
    EXPECT_EQ(rt().run([] { return scope([](task_scope&) { return std::string("woven"); }); }), "woven");
    EXPECT_THROW(scope([](task_scope&) { throw 7; }), int);
    EXPECT_THROW(static_cast<void>(scope([](task_scope&) -> int { throw 7; })), int);
    scope([](task_scope& s) {
        EXPECT_FALSE(s.cancelled());
        EXPECT_EQ(s.further_exceptions(), 0U);
    });
}

TEST_P(Scope, ItsGreenThreadsMayStartOthersInIt) {
    std::atomic<int> ran = 0;
    rt().run([&] {
        scope([&](task_scope& s) {
            s.go([&] {
                for (int i = 0; i < 10; ++i) {
                    s.go([&] {
                        weft::yield();
                        s.go([&] {
                            sleep_for(50us);
                            s.go({.name = "grandchild"}, [&] { ran += this_g::name() == std::string("grandchild"); });
                        });
                    });
                }
            });
        });
    });
    EXPECT_EQ(ran, 10);
}

TEST_P(Scope, TheFunctionsAreDestroyedWhenItEnds) {
    const long before = tracked::alive();
    const int rounds = scaled(300);
    rt().run([&] {
        for (int i = 0; i < rounds; ++i) {
            std::optional<future<int>> f;
            scope([&](task_scope& s) {
                s.go([t = tracked(i)] { weft::yield(); });
                s.go([t = tracked(i)] {});
                f = s.async([t = tracked(i)] {
                    weft::yield();
                    return t.value;
                });
            });
            ASSERT_EQ(tracked::alive(), before);
            ASSERT_TRUE(f->is_ready());
            ASSERT_EQ(f->get(), i);
        }
    });
}

TEST_P(Scope, NestsInAndAcrossGreenThreads) {
    std::atomic<int> leaves = 0;
    rt().run([&] {
        const std::function<void(int)> split = [&](int depth) {
            if (depth == 0) {
                ++leaves;
                return;
            }
            scope([&](task_scope& s) {
                s.go([&] { split(depth - 1); });
                split(depth - 1);
            });
        };
        split(10);
    });
    EXPECT_EQ(leaves, 1024);
}

// Green threads of a plain thread run on the default runtime.
TEST_P(Scope, APlainThreadMayUseScopes) {
    std::atomic<int> ran = 0;
    scope([&](task_scope& s) {
        for (int i = 0; i < 20; ++i) {
            s.go([&] {
                sleep_for(50us);
                ran += this_g::id() != 0;
            });
        }
        EXPECT_EQ(s.async([] { return 3; }).get(), 3);
    });
    EXPECT_EQ(ran, 20);
    EXPECT_THROW(scope([](task_scope& s) {
                     s.go([] { throw std::out_of_range("frayed"); });
                     wait_for_ever();
                 }),
                 std::out_of_range);
    eventually([] { return stats().live == 0; });
}

TEST_P(Scope, TheDumpShowsTheWaitForItsEnd) {
    const chan<int> gate;
    park_off_thread(2, [&] { rt().go([&] { scope([&](task_scope& s) { s.go([&] { gate.recv(); }); }); }); });
    const std::string report = written_by([&](int fd) { rt().dump(fd); });
    EXPECT_EQ(occurrences(report, "scope join"), 1U) << report;
    gate.send(1);
}

TEST_P(Scope, AFailedStartEndsTheScopeInOrder) {
    std::atomic<int> ran = 0;
    rt().run([&] {
        EXPECT_THROW(scope([&](task_scope& s) {
                         s.go([&] { ran += ending_of(wait_for_ever) == ending::cancelled; });
                         s.go({.stack_size = std::size_t{1} << 40}, [&] { ran += 100; });
                     }),
                     std::invalid_argument);
    });
    EXPECT_EQ(ran, 1);
}

// As those of wait_group::go and async: what a local's destructor uses may be around the scope.
TEST_P(Scope, LocalsOfItsGreenThreadsAreDestroyedBeforeItEnds) {
    struct counts_its_end {
        std::atomic<int>* ended = nullptr;

        ~counts_its_end() {
            if (ended == nullptr) return;
            for (int i = 0; i < 3; ++i) weft::yield();
            ++*ended;
        }
    };

    static const local<counts_its_end> mine;
    rt().run([] {
        std::atomic<int> ended = 0;
        scope([&](task_scope& s) {
            s.go([&] { mine->ended = &ended; });
            static_cast<void>(s.async([&] { mine->ended = &ended; }));
        });
        EXPECT_EQ(ended, 2);
    });
}

}  // namespace
}  // namespace weft::test
