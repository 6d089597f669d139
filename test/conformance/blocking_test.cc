// blocking_test.cc: declared blocking calls: their arguments, their results, and the identity of
// the thread inside.

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <weft/blocking.h>
#include <weft/weft.h>

#include "support/all_ways.h"
#include "support/build.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using Blocking = procs_test;
WEFT_SWEEP_OVER(Blocking, 1U, 2U, 4U);

// ---- Results.

TEST_P(Blocking, ReturnsWhatTheFunctionReturns) {
    rt().run([] {
        EXPECT_EQ(blocking([] { return 5; }), 5);
        EXPECT_EQ(blocking([] { return std::string(100, 'x'); }), std::string(100, 'x'));
        for (const hand_off way : all_ways) EXPECT_EQ(blocking(way, [] { return 6; }), 6);

        bool called = false;
        blocking([&] { called = true; });
        EXPECT_TRUE(called);
        static_assert(std::is_void_v<decltype(blocking([] {}))>);

        int there = 1;
        int& same = blocking([&]() -> int& { return there; });
        EXPECT_EQ(&same, &there);
        const int& constant = blocking([&]() -> const int& { return there; });
        EXPECT_EQ(&constant, &there);
        static_assert(std::is_same_v<decltype(blocking([&]() -> int&& { return std::move(there); })), int&&>);

        auto owned = blocking([] { return std::make_unique<int>(7); });
        EXPECT_EQ(*owned, 7);
        const std::unique_ptr<int> passed = blocking([&] { return std::move(owned); });
        EXPECT_EQ(*passed, 7);
    });
}

struct made_from_int {
    explicit made_from_int(int v) : value(v) {}

    made_from_int(made_from_int&&) = default;
    int value;
};

TEST_P(Blocking, TakesAnyCallable) {
    rt().run([] {
        EXPECT_EQ(blocking([] { return made_from_int(3); }).value, 3);
        // A function object that can be called only once, and one that has state of its own.
        struct once {
            std::unique_ptr<int> what = std::make_unique<int>(8);

            std::unique_ptr<int> operator()() && { return std::move(what); }
        };

        EXPECT_EQ(*blocking(once()), 8);
        int calls = 0;
        auto counting = [&calls, own = 0]() mutable { return ++calls + ++own; };
        EXPECT_EQ(blocking(counting), 2);
        EXPECT_EQ(blocking(counting), 4) << "it is not copied";
        static constexpr auto function = +[] { return 9; };
        EXPECT_EQ(blocking(function), 9);
    });
}

// ---- Exceptions.

TEST_P(Blocking, ExceptionsReachTheCaller) {
    rt().run([] {
        for (const hand_off way : all_ways) {
            EXPECT_THROW(blocking(way, [] { throw std::out_of_range("too far"); }), std::out_of_range);
            EXPECT_THROW(blocking(way, []() -> int { throw 17; }), int);
        }
        struct mine {};

        EXPECT_THROW(blocking([]() -> int& { throw mine(); }), mine);
        EXPECT_THROW(blocking([] { throw cancelled(); }), cancelled);
        // An exception inside the handler of another, on both sides.
        try {
            throw std::runtime_error("outer");
        } catch (const std::runtime_error& outer) {
            EXPECT_THROW(blocking([] {
                             EXPECT_NE(std::current_exception(), nullptr) << "it is still being handled";
                             throw std::logic_error("inner");
                         }),
                         std::logic_error);
            EXPECT_STREQ(outer.what(), "outer");
            blocking([] {
                try {
                    throw 1;
                } catch (int) {}
            });
            EXPECT_NE(std::current_exception(), nullptr);
        }
        EXPECT_EQ(std::uncaught_exceptions(), 0);
    });
}

TEST_P(Blocking, WorksInADestructorDuringUnwinding) {
    rt().run([] {
        struct says_goodbye {
            ~says_goodbye() {
                said = blocking([] {
                    std::this_thread::sleep_for(1ms);
                    return std::uncaught_exceptions();
                });
            }

            int& said;
        };

        int said = 0;
        EXPECT_THROW(
            {
                const says_goodbye last{said};
                throw std::runtime_error("unwinds");
            },
            std::runtime_error);
        EXPECT_EQ(said, 1);
    });
}

// ---- Nested, and in plain threads.

TEST_P(Blocking, ANestedCallCallsDirectly) {
    rt().run([] {
        const int thread = os_thread_id();
        const int result = blocking([&] {
            EXPECT_EQ(os_thread_id(), thread);
            EXPECT_THROW(blocking(hand_off::at_once, [] { throw 5; }), int);
            return blocking([&] {
                EXPECT_EQ(this_g::id(), 0U);
                EXPECT_EQ(os_thread_id(), thread);
                return blocking([] { return 4; }) + 1;
            });
        });
        EXPECT_EQ(result, 5);
        EXPECT_NE(this_g::id(), 0U);
    });
}

TEST(BlockingInAPlainThread, CallsTheFunctionDirectly) {
    const int thread = os_thread_id();
    EXPECT_EQ(blocking([] { return os_thread_id(); }), thread);
    EXPECT_THROW(blocking([] { throw 5; }), int);
    for (const hand_off way : all_ways) EXPECT_EQ(blocking(way, [] { return 1; }), 1);
}

// ---- Inside it is a plain thread.

TEST_P(Blocking, TheFunctionRunsAsOnAPlainThread) {
    rt().run([this] {
        const uint64_t id = this_g::id();
        this_g::set_name("caller");
        this_g::set_label("key", "value");
        blocking([] {
            EXPECT_EQ(this_g::id(), 0U);
            EXPECT_TRUE(this_g::name().empty());
            EXPECT_TRUE(this_g::labels().empty());
            EXPECT_FALSE(this_g::pinned());
            this_g::set_name("nobody");
            checkpoint();  // no effect
        });
        EXPECT_EQ(this_g::id(), id);
        EXPECT_EQ(this_g::name(), "caller");
        EXPECT_EQ(this_g::labels().find("key"), "value");

        // A green thread started inside runs on the same runtime.
        const uint64_t before = stats().spawned;
        std::atomic<bool> ran = false;
        blocking([&] {
            wait_group child;
            child.go([&] { ran = this_g::id() != 0; });
            EXPECT_GT(stats().spawned, before);
            EXPECT_EQ(async([] { return 3; }).get(), 3);
            child.wait();  // blocks this thread; the child runs all the same
        });
        EXPECT_TRUE(ran);
        EXPECT_EQ(stats().procs, procs());
    });
}

TEST_P(Blocking, WaitsInsideBlockOnlyTheThread) {
    const int n = scaled(200);
    rt().run([n] {
        const chan<int> there;
        const chan<int> back(2);
        mutex m;
        long inside = 0;  // guarded by m
        wait_group all;
        all.go([=] {
            for (int v : there) back.send(v + 1);
        });
        all.go([&] {
            for (int i = 0; i < n; ++i) {
                const std::lock_guard hold(m);
                weft::yield();
                ++inside;
            }
        });
        blocking([&] {
            const int thread = os_thread_id();
            for (int i = 0; i < n; ++i) {
                there.send(int{i});
                EXPECT_EQ(back.recv(), i + 1);
                const std::lock_guard hold(m);
                ++inside;
            }
            there.close();
            sleep_for(100us);
            EXPECT_EQ(weft::select_first(weft::recv_case(back), weft::timeout_case(100us)).index(), 1U);
            EXPECT_EQ(os_thread_id(), thread);
        });
        all.wait();
        EXPECT_EQ(inside, 2 * n);
    });
}

// ---- The stack.

WEFT_TEST_OPAQUE std::size_t use_much_stack() {
    std::array<volatile char, 400 * 1024> large;
    for (std::size_t i = 0; i < large.size(); i += 512) large[i] = 1;
    std::size_t sum = 0;
    for (std::size_t i = 0; i < large.size(); i += 512) sum += static_cast<std::size_t>(large[i]);
    return sum;
}

TEST_P(Blocking, HasTheStackOfAThread) {
    rt().run([] {
        const spawn_options small{.stack_size = 16 * 1024};
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(async(small, [] { return blocking([] { return use_much_stack(); }); }).get(), 800U);
            EXPECT_EQ(
                async(small, [] { return blocking([] { return blocking([] { return use_much_stack(); }); }); }).get(),
                800U);
        }
    });
}

}  // namespace
}  // namespace weft::test
