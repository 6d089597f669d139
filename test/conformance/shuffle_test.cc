// shuffle_test.cc: RUN_DEBUG=random: an unspecified order is shuffled, reproducibly for the same
// seed.

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/captured.h"
#include "support/environment.h"

namespace weft::test {
namespace {

// What a program with ten green threads does, on one P, in a process with this RUN_DEBUG.
struct outcome {
    std::string ran;     // The order in which they ran after their start.
    std::string woken;   // The order in which they ran when woken together.
    std::string chosen;  // Which cases a select took.
    std::string said;
};

outcome run_with(const char* debug) {
    const environment_variable debugging("RUN_DEBUG", debug);
    outcome result;
    result.said = stderr_of([&] {
        runtime rt({.procs = 1});
        rt.run([&] {
            mutex one;  // never contended: there is one P. But that is no order
            wait_group started;
            for (char c = '0'; c <= '9'; ++c) {
                started.go([&, c] {
                    const std::lock_guard hold(one);
                    result.ran += c;
                });
            }
            started.wait();

            wait_group woken;
            event all_go;
            for (char c = '0'; c <= '9'; ++c) {
                woken.go([&, c] {
                    all_go.wait();
                    const std::lock_guard hold(one);
                    result.woken += c;
                });
            }
            for (int i = 0; i < 20; ++i) yield();
            all_go.set();
            woken.wait();

            const chan<int> a(20);
            const chan<int> b(20);
            for (int i = 0; i < 20; ++i) {
                a.send(i);
                b.send(i);
            }
            for (int i = 0; i < 20; ++i) {
                result.chosen += select(on_recv(a, [](auto) {}), on_recv(b, [](auto) {})) == 0 ? 'a' : 'b';
            }
        });
    });
    return result;
}

bool operator==(const outcome& a, const outcome& b) {
    return a.ran == b.ran && a.woken == b.woken && a.chosen == b.chosen;
}

// In separate processes, because shuffling affects the whole process from then on.
class Shuffle : public ::testing::Test {
protected:
    template <typename F>
    static void in_a_process(F&& body) {
        // Restarts the program, or forks where an emulator runs it, because the kernel could not
        // start it.
        GTEST_FLAG_SET(death_test_style, emulated ? "fast" : "threadsafe");
        EXPECT_EXIT(
            {
                body();
                std::exit(HasFailure() ? 1 : 0);
            },
            ::testing::ExitedWithCode(0), "");
    }
};

TEST_F(Shuffle, WithoutItTheOrderIsDeterministic) {
    in_a_process([] { EXPECT_TRUE(run_with(nullptr) == run_with(nullptr)); });
}

TEST_F(Shuffle, TheSameSeedDrawsTheSameOrder) {
    in_a_process([] {
        const outcome first = run_with("random=7");
        EXPECT_TRUE(first == run_with("random=7"));
        EXPECT_FALSE(first == run_with("random=8"));
    });
}

TEST_F(Shuffle, EachKindOfOrderIsShuffled) {
    in_a_process([] {
        std::set<std::string> ran;
        std::set<std::string> woken;
        std::set<std::string> chosen;
        for (int i = 0; i < 8; ++i) {
            const outcome o = run_with(("random=" + std::to_string(i)).c_str());
            ran.insert(o.ran);
            woken.insert(o.woken);
            chosen.insert(o.chosen);
            EXPECT_EQ(o.ran.size(), 10U);
            EXPECT_EQ(o.woken.size(), 10U);
        }
        EXPECT_GE(ran.size(), 6U);
        EXPECT_GE(woken.size(), 6U);
        EXPECT_GE(chosen.size(), 6U);
    });
}

TEST_F(Shuffle, ReportsItsSeed) {
    in_a_process([] {
        EXPECT_EQ(run_with("random=7").said,
                  "weft: the scheduling order is random; to repeat it: RUN_DEBUG=random=7\n");
        const outcome drawn = run_with("random");
        const std::string seed = drawn.said.substr(drawn.said.rfind('=') + 1);
        EXPECT_TRUE(drawn == run_with(("random=" + seed.substr(0, seed.size() - 1)).c_str()));
        EXPECT_EQ(run_with(nullptr).said, "");
    });
}

}  // namespace
}  // namespace weft::test
