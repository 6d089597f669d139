// unchanged_tests.cc: tests that know nothing of simulations. WEFT_SIM_ALL=1 finds those that fail
// in some order of their green threads.
#include <string>

#include <gtest/gtest.h>

#include <weft/sim/gtest.h>
#include <weft/weft.h>

namespace {

using namespace std::chrono_literals;

TEST(Unchanged, AddsUnderALock) {
    int x = 0;
    weft::mutex m;
    weft::wait_group both;
    for (int i = 0; i < 2; ++i) {
        both.go([&] {
            const std::lock_guard held(m);
            ++x;
        });
    }
    both.wait();
    EXPECT_EQ(x, 2);
}

TEST(Unchanged, LosesAnAddition) {
    int x = 0;
    weft::mutex m;
    weft::wait_group both;
    for (int i = 0; i < 2; ++i) {
        both.go([&] {
            m.lock();
            const int seen = x;
            m.unlock();
            m.lock();
            x = seen + 1;
            m.unlock();
        });
    }
    both.wait();
    EXPECT_EQ(x, 2) << "an addition was lost";
}

class WithLocks : public ::testing::Test {
protected:
    weft::mutex first;
    weft::mutex second;
};

TEST_F(WithLocks, TakesThemInTwoOrders) {
    weft::wait_group both;
    both.go([&] {
        const std::lock_guard one(first);
        const std::lock_guard two(second);
    });
    both.go([&] {
        const std::lock_guard one(second);
        const std::lock_guard two(first);
    });
    both.wait();
}

TEST_F(WithLocks, TakesThemInOneOrder) {
    weft::wait_group both;
    for (int i = 0; i < 2; ++i) {
        both.go([&] {
            const std::lock_guard one(first);
            const std::lock_guard two(second);
        });
    }
    both.wait();
}

TEST(Unchanged, SleepsADay) {
    const auto begin = std::chrono::steady_clock::now();
    weft::sleep_for(std::getenv("WEFT_SIM_ALL") != nullptr ? 24h : 0h);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 25h);
}

}  // namespace

int main(int argc, char** argv) { return weft::sim::run_all_tests(argc, argv); }
