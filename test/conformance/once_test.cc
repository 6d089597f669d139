// once_test.cc: code that runs once, whichever threads ask for it, and however often it fails
// first.

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <weft/once.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using Once = procs_test;
WEFT_SWEEP(Once);

static_assert(!std::is_copy_constructible_v<once_flag> && !std::is_move_constructible_v<once_flag>);
static_assert(sizeof(once_flag) <= 32);

// Works in any thread.
void give_way() {
    if (this_g::id() != 0) {
        weft::yield();
    } else {
        std::this_thread::yield();
    }
}

constinit once_flag once_before_main;  // usable before main

TEST_P(Once, OnlyTheFirstCallRunsTheFunction) {
    const auto use = [] {
        once_flag flag;
        int calls = 0;
        for (int i = 0; i < 5; ++i) call_once(flag, [&calls] { ++calls; });
        EXPECT_EQ(calls, 1);
    };
    rt().run(use);
    use();
}

TEST_P(Once, ArgumentsArePassedOn) {
    struct counter {
        int value = 0;

        void add(int n, std::unique_ptr<int> more) { value += n + *more; }
    };

    rt().run([] {
        counter c;
        once_flag flag;
        call_once(flag, &counter::add, &c, 2, std::make_unique<int>(3));
        EXPECT_EQ(c.value, 5);
        once_flag other;
        call_once(other, [](int& n) { n = 7; }, c.value);
        EXPECT_EQ(c.value, 7);
    });
}

// A concurrent caller waits, and then sees all that the call did.
TEST_P(Once, ConcurrentCallersWaitForTheRunningCall) {
    const int rounds = scaled(300);
    for (int i = 0; i < rounds; ++i) {
        once_flag flag;
        int value = 0;  // not atomic: call_once orders it
        std::atomic<int> calls = 0;
        std::atomic<int> wrong = 0;
        const auto visit = [&] {
            call_once(flag, [&] {
                ++calls;
                if (i % 4 == 0) compute_for(10us);
                value = 42;
            });
            wrong += value != 42;
        };
        std::thread plain(visit);
        for (int g = 0; g < 8; ++g) rt().go(visit);
        plain.join();
        rt().drain();
        ASSERT_EQ(calls, 1);
        ASSERT_EQ(wrong, 0);
    }
}

TEST_P(Once, WaitersAreParkedUntilTheCallHasReturned) {
    once_flag flag;
    const chan<int> go_on;
    std::atomic<int> back = 0;
    constexpr int waiters = 50;
    park(1 + waiters, [&] {
        rt().go([&] { call_once(flag, [&] { go_on.recv(); }); });
        eventually([&] { return rt().stats().parks >= 1; });
        for (int i = 0; i < waiters; ++i) {
            rt().go([&] {
                call_once(flag, [] { FAIL() << "called twice"; });
                ++back;
            });
        }
    });
    EXPECT_EQ(back, 0);
    go_on.send(1);
    rt().drain();
    EXPECT_EQ(back, waiters);
}

TEST_P(Once, AfterAnExceptionTheNextCallerRetries) {
    once_flag flag;
    std::atomic<int> calls = 0;
    std::atomic<int> caught = 0;
    const auto visit = [&] {
        try {
            call_once(flag, [&] {
                give_way();
                if (++calls < 4) throw std::runtime_error("not yet");
            });
        } catch (const std::runtime_error&) {
            ++caught;
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(visit);
    for (int i = 0; i < 8; ++i) rt().go(visit);
    for (std::thread& t : threads) t.join();
    rt().drain();
    EXPECT_EQ(calls, 4);
    EXPECT_EQ(caught, 3);
}

TEST_P(Once, AFlagMayBeDestroyedWhenItsCallsHaveReturned) {
    const int rounds = scaled(1000);
    rt().run([rounds] {
        struct shared {
            once_flag flag;
            std::atomic<int> users = 4;
        };

        for (int i = 0; i < rounds; ++i) {
            auto* object = new shared;
            wait_group all;
            for (int u = 0; u < 4; ++u) {
                all.go([object] {
                    call_once(object->flag, [] { weft::yield(); });
                    if (--object->users == 0) delete object;
                });
            }
            all.wait();
        }
    });
}

// ---- once_value.

TEST_P(Once, EveryCallReturnsTheSameValue) {
    std::atomic<int> calls = 0;
    std::atomic<int> wrong = 0;
    const once_value name([&] {
        ++calls;
        give_way();
        return std::string("a text that is long enough to be allocated");
    });
    static_assert(std::is_same_v<decltype(name()), const std::string&>);
    std::atomic<const std::string*> first = nullptr;
    const auto visit = [&] {
        const std::string* mine = &name();
        const std::string* expected = nullptr;
        if (!first.compare_exchange_strong(expected, mine) && expected != mine) ++wrong;
        wrong += *mine != "a text that is long enough to be allocated";
    };
    std::thread plain(visit);
    for (int g = 0; g < 8; ++g) rt().go(visit);
    plain.join();
    rt().drain();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(wrong, 0);
}

TEST_P(Once, EveryCallThrowsTheSameException) {
    rt().run([] {
        int calls = 0;
        const once_value fails([&calls]() -> int {
            ++calls;
            throw std::runtime_error("no");
        });
        std::vector<const std::exception*> seen;
        for (int i = 0; i < 3; ++i) {
            try {
                fails();
            } catch (const std::exception& e) {
                EXPECT_STREQ(e.what(), "no");
                seen.push_back(&e);
            }
        }
        EXPECT_EQ(calls, 1);
        ASSERT_EQ(seen.size(), 3U);
        EXPECT_EQ(seen[0], seen[1]);
        EXPECT_EQ(seen[1], seen[2]);
    });
}

TEST_P(Once, AnyThrownTypeIsKept) {
    rt().run([] {
        int calls = 0;
        const once_value fails([&calls] {
            ++calls;
            throw 7;
        });
        for (int i = 0; i < 2; ++i) EXPECT_THROW(fails(), int);
        EXPECT_EQ(calls, 1);
    });
}

// A cancellation concerns the calling green thread, not the value.
TEST_P(Once, ACancellationIsNotKept) {
    rt().run([] {
        int calls = 0;
        const once_value third([&calls] {
            ++calls;
            if (calls == 1) throw cancelled();
            if (calls == 2) throw timed_out();
            return calls;
        });
        EXPECT_THROW(third(), cancelled);
        EXPECT_THROW(third(), timed_out);
        EXPECT_EQ(third(), 3);
        EXPECT_EQ(third(), 3);
    });
}

TEST_P(Once, AVoidFunctionIsCalledOnce) {
    rt().run([] {
        int calls = 0;
        const once_value initialise([&calls] { ++calls; });
        static_assert(std::is_void_v<decltype(initialise())>);
        initialise();
        initialise();
        EXPECT_EQ(calls, 1);
    });
}

TEST_P(Once, AReferenceIsReturnedAsAReference) {
    rt().run([] {
        int value = 1;
        const once_value where([&value]() -> int& { return value; });
        where() = 2;
        EXPECT_EQ(&where(), &value);
        EXPECT_EQ(value, 2);
    });
}

// The function is destroyed as soon as it has been called, whether it returned or threw.
TEST_P(Once, TheFunctionIsDestroyedWhenItHasBeenCalled) {
    rt().run([] {
        const long before = tracked::alive();
        const once_value succeeds([t = tracked(1)] { return t.value; });
        const once_value fails([t = tracked(2)]() -> int { throw t.value; });
        EXPECT_EQ(tracked::alive(), before + 2);
        EXPECT_EQ(succeeds(), 1);
        EXPECT_THROW(fails(), int);
        EXPECT_EQ(tracked::alive(), before);
        EXPECT_EQ(succeeds(), 1);
    });
}

TEST_P(Once, AMoveOnlyValueIsReturnedByReference) {
    rt().run([] {
        const once_value owner([] { return std::make_unique<int>(5); });
        EXPECT_EQ(*owner(), 5);
        EXPECT_EQ(owner().get(), owner().get());
    });
}

}  // namespace
}  // namespace weft::test
