// placement_test.cc: an M that holds a P on a shared CPU moves to the CPU where a thread computes
// alone without a P.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
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
    one.add(cpu);
    return one;
}

// A runtime with two Ps on two CPUs. More Gs yield than there are Ps, and one is a hog.
class Placement : public ::testing::Test {
protected:
    explicit Placement(const char* debug = nullptr) : debug_("RUN_DEBUG", debug) {}

    void SetUp() override {
        if (weft::detail::os::cpu_of(weft::detail::os::this_cpu_word()) == weft::detail::os::no_cpu)
            GTEST_SKIP() << "this system does not say where threads are";
        if (!weft::detail::os::read_cpu_mask(0, whole_) || !weft::detail::os::write_cpu_mask(0, whole_))
            GTEST_SKIP() << "this system does not say, or set, where threads may run";
        for (uint32_t cpu = 0; cpu < weft::detail::os::cpus_max && cpus_.size() < 2; ++cpu)
            if (whole_.has(cpu)) cpus_.push_back(cpu);
        if (cpus_.size() < 2) GTEST_SKIP() << "needs two CPUs";
        for (const uint32_t cpu : cpus_) two_.add(cpu);
        EXPECT_TRUE(weft::detail::os::write_cpu_mask(0, two_));
        rt_ = std::make_unique<runtime>(runtime_options{.procs = 2});
        rt_->go([this] {
            for (hog_ = os_thread_id(); !over_;) {}
        });
        for (auto& tid : yielders_)
            rt_->go([this, &tid] {
                for (; !over_; weft::yield()) tid = os_thread_id();
            });
        eventually([&] { return hog_ != 0 && rt_->stats().running_without_p != 0; });
        EXPECT_TRUE(weft::detail::os::write_cpu_mask(hog_, only(cpus_[1])));
    }

    void TearDown() override {
        over_ = true;
        if (!rt_) return;
        rt_->drain();
        rt_.reset();
        EXPECT_TRUE(weft::detail::os::write_cpu_mask(0, whole_));
    }

    // Puts all threads that may hold a P on one CPU. The hog has the other CPU to itself.
    void crowd() {
        for (const auto& yielder : yielders_) {
            const int tid = yielder;
            if (tid == 0 || tid == hog_) continue;
            EXPECT_TRUE(weft::detail::os::write_cpu_mask(tid, only(cpus_[0])));
            EXPECT_TRUE(weft::detail::os::write_cpu_mask(tid, two_));
        }
    }

    const environment_variable debug_;
    const environment_variable no_short_slices_{"RUN_SLICE", nullptr};
    cpu_mask whole_;
    cpu_mask two_;
    std::vector<uint32_t> cpus_;
    std::atomic<bool> over_ = false;
    std::atomic<int> hog_ = 0;
    std::array<std::atomic<int>, 4> yielders_{};
    std::unique_ptr<runtime> rt_;
};

TEST_F(Placement, HoldersMoveToACpuWithOnlyAHog) {
    eventually([&] {
        crowd();
        return rt_->stats().threads_moved > 0;
    });
    // The moved thread may run wherever it could before, and the hog's mask is left alone.
    for (const auto& yielder : yielders_) eventually([&] { return mask_of(yielder) == two_; });
    EXPECT_EQ(mask_of(hog_), only(cpus_[1]));
}

class PlacementOff : public Placement {
protected:
    PlacementOff() : Placement("placement=0") {}
};

TEST_F(PlacementOff, MovesNoThread) {
    for (int i = 0; i < 50; ++i) {
        crowd();
        std::this_thread::sleep_for(1ms);  // the time of ten checks in all; there is no event to wait for
    }
    EXPECT_EQ(rt_->stats().threads_moved, 0U);
}

TEST(PlacementWithoutHogs, MovesNoThread) {
    const calm no_storm;
    runtime rt({.procs = 2});
    for (int i = 0; i < 4; ++i)
        rt.go([] {
            const auto end = std::chrono::steady_clock::now() + 100ms;
            while (std::chrono::steady_clock::now() < end) weft::yield();
        });
    rt.drain();
    // On a busy machine a G that yields may get no CPU for longer than a slice, and be taken for a
    // hog.
    const stats_snapshot seen = rt.stats();
    if (seen.retakes_burning != 0) return;
    EXPECT_EQ(seen.threads_moved, 0U);
}

}  // namespace
}  // namespace weft::test
