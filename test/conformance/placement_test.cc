// placement_test.cc: threads that hold Ps share no CPU while one that computes without a P has another one to itself.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "os/cpu_affinity.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/resources.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using weft::detail::os::cpu_mask;

cpu_mask mask_of(int tid) {
    cpu_mask mask;
    EXPECT_TRUE(weft::detail::os::read_cpu_mask(tid, mask));
    return mask;
}

cpu_mask only(uint32_t cpu) {
    cpu_mask one;
    one.words[cpu / 64] = uint64_t{1} << (cpu % 64);
    return one;
}

// A runtime with two Ps, in which more yield than there are Ps, and one computes.
class Placement : public ::testing::Test {
protected:
    void SetUp() override {
        if (weft::detail::os::cpu_of(weft::detail::os::this_cpu_word()) == weft::detail::os::no_cpu)
            GTEST_SKIP() << "this system does not say where threads are";
        for (uint32_t cpu = 0; cpu < weft::detail::os::cpus_max && cpus_.size() < 2; ++cpu)
            if (usual_.has(cpu)) cpus_.push_back(cpu);
        if (cpus_.size() < 2) GTEST_SKIP() << "needs two CPUs";
        rt_.emplace(runtime_options{.procs = 2, .name = "placed"});
        rt_->go([this] {
            for (hog_ = os_thread_id(); !over_;) {}
        });
        for (auto& tid : yielders_)
            rt_->go([this, &tid] {
                for (; !over_; weft::yield()) tid = os_thread_id();
            });
        eventually([&] { return hog_ != 0 && rt_->stats().running_without_p != 0; });
    }

    void TearDown() override {
        over_ = true;
        if (rt_) rt_->drain();
    }

    // Puts all that may hold a P on one CPU, and leaves the hog the other one; until somebody has been moved.
    void crowd_until_one_is_moved() {
        ASSERT_TRUE(weft::detail::os::write_cpu_mask(hog_, only(cpus_[1])));
        const uint64_t before = rt_->stats().threads_moved;
        eventually([&] {
            for (const auto& yielder : yielders_) {
                const int tid = yielder;
                if (tid == 0 || tid == hog_) continue;
                EXPECT_TRUE(weft::detail::os::write_cpu_mask(tid, only(cpus_[0])));
                EXPECT_TRUE(weft::detail::os::write_cpu_mask(tid, usual_));
            }
            return rt_->stats().threads_moved > before;
        });
    }

    const calm no_storm_;
    const cpu_mask usual_ = mask_of(0);
    std::vector<uint32_t> cpus_;
    std::atomic<bool> over_ = false;
    std::atomic<int> hog_ = 0;
    std::array<std::atomic<int>, 4> yielders_{};
    std::optional<runtime> rt_;
};

TEST_F(Placement, HoldersAreMovedToWhereTheHogIsAlone) {
    crowd_until_one_is_moved();
    // Whoever it was may go where it could before; and nobody touches the mask that the hog was given.
    for (const auto& yielder : yielders_) eventually([&] { return mask_of(yielder) == usual_; });
    EXPECT_EQ(mask_of(hog_), only(cpus_[1]));
}

// Having been given a mask, a thread does not follow the process's any more by itself.
TEST_F(Placement, AllFollowTheProcessesMaskAfterwards) {
    crowd_until_one_is_moved();
    const int monitor = thread_named("placed-sysmon");
    ASSERT_NE(monitor, 0);
    for (const cpu_mask& now : {only(cpus_[0]), usual_}) {
        ASSERT_TRUE(weft::detail::os::write_cpu_mask(monitor, now));
        for (const auto& yielder : yielders_) eventually([&] { return mask_of(yielder) == now; });
        EXPECT_EQ(mask_of(hog_), only(cpus_[1])) << "that is nobody else's";
    }
}

TEST(PlacementWithoutHogs, NobodyIsMoved) {
    const calm no_storm;
    runtime rt({.procs = 2});
    for (int i = 0; i < 4; ++i)
        rt.go([] {
            const auto end = std::chrono::steady_clock::now() + 100ms;
            while (std::chrono::steady_clock::now() < end) weft::yield();
        });
    rt.drain();
    EXPECT_EQ(rt.stats().threads_moved, 0U);
}

}  // namespace
}  // namespace weft::test
