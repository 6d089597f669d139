// stats_test.cc: the histogram, and counters that belong together.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::eventually;

TEST(LatencyHistogram, BucketsFollowEachOtherWithoutGaps) {
    using h = latency_histogram;
    EXPECT_EQ(h::bucket_of(0), 0U);
    for (std::size_t b = 0; b < h::buckets; ++b) {
        EXPECT_EQ(h::bucket_of(h::least_ns(b)), b);
        if (b == 0) continue;
        EXPECT_EQ(h::bucket_of(h::least_ns(b) - 1), b - 1);
    }
    EXPECT_EQ(h::bucket_of(UINT64_MAX), h::buckets - 1);
}

TEST(LatencyHistogram, ABucketIsAQuarterOfAPowerOfTwo) {
    for (std::size_t b = 8; b + 1 < latency_histogram::buckets; ++b) {
        const auto low = static_cast<double>(latency_histogram::least_ns(b));
        const auto high = static_cast<double>(latency_histogram::least_ns(b + 1));
        EXPECT_LE(high / low, 1.25);
        EXPECT_GT(high / low, 1.1);
    }
}

TEST(LatencyHistogram, QuantilesAreTheUpperEndsOfBuckets) {
    latency_histogram h;
    EXPECT_EQ(h.total(), 0U);
    EXPECT_EQ(h.quantile_ns(0.5), 0U);
    for (uint64_t ns = 1; ns <= 1000; ++ns) ++h.counts[latency_histogram::bucket_of(ns)];
    EXPECT_EQ(h.total(), 1000U);
    for (const double q : {0.01, 0.1, 0.5, 0.9, 0.99, 1.0}) {
        const double exact = q * 1000;
        EXPECT_GE(static_cast<double>(h.quantile_ns(q)), exact - 1);
        EXPECT_LE(static_cast<double>(h.quantile_ns(q)), exact * 1.25 + 1);
    }
    EXPECT_LE(h.quantile_ns(0), 1U);
}

TEST(SchedulingLatency, SeesALongWaitForTheOnlyP) {
    runtime rt({.procs = 1});
    rt.run([] {
        wait_group all;
        all.go([] {});
        yield();
        all.wait();
        // It is queued while we compute. g0 runs it because we are asked to yield.
        const auto begun = std::chrono::steady_clock::now();
        for (int i = 0; i < 200; ++i) {
            all.go([] {});
        }
        while (std::chrono::steady_clock::now() - begun < 30ms) {}
        all.wait();
    });
    const latency_histogram h = rt.scheduling_latency();
    EXPECT_GT(h.total(), 0U);
    EXPECT_GE(h.quantile_ns(1), 1'000'000U);
    EXPECT_LT(h.quantile_ns(1), 60'000'000'000U) << "all of it was within this test";
}

TEST(Stats, CountsGsByState) {
    runtime rt({.procs = 2});
    std::atomic<bool> over{false};
    std::atomic<int> there{0};
    const chan<int> never_sent;
    rt.go([&] {
        there.fetch_add(1);
        while (!over.load()) {}
    });
    rt.go([&] {
        blocking([&] {
            there.fetch_add(1);
            while (!over.load()) std::this_thread::sleep_for(1ms);
        });
    });
    rt.go([&] { never_sent.recv(); });
    // All in one snapshot: counters are read one after the other, so a third G that is still queued
    // may seem to wait.
    eventually([&] {
        const stats_snapshot s = rt.stats();
        return there.load() == 2 && s.live == 3 && s.in_call == 1 && s.running == 1 && s.waiting == 1 &&
               s.runnable == 0;
    });
    over.store(true);
    never_sent.send(1);
    rt.drain();
    eventually([&] {
        const stats_snapshot end = rt.stats();
        return end.running + end.in_call + end.waiting + end.runnable == 0 && end.threads_with_p == 0;
    });
}

TEST(Stats, CountsQueuedGs) {
    runtime rt({.procs = 1});
    const auto [all, procs] = rt.run([&] {
        for (int i = 0; i < 10; ++i) go([] {});
        go({.priority = priority::low}, [] {});
        proc_snapshot p[2];
        EXPECT_EQ(stats_of_procs(p, 2), 1U);
        return std::pair(weft::stats(), p[0]);
    });
    EXPECT_EQ(all.queued_local, 10U);
    EXPECT_EQ(all.queued_low, 1U);
    EXPECT_EQ(all.runnable, 11U);
    EXPECT_EQ(all.running, 1U);
    EXPECT_EQ(procs.queued, 11U);
    EXPECT_FALSE(procs.idle);
    rt.drain();
}

TEST(Stats, CountsHandOffs) {
    runtime rt({.procs = 1});
    rt.run([] {
        wait_group all;
        all.go([] {});
        blocking(hand_off::at_once, [] {});
        all.wait();
    });
    EXPECT_GE(rt.stats().hand_offs, 1U);
}

// At most two live: a G and the one it waits for.
TEST(Stats, LiveNeverExceedsTheTrueCount) {
    runtime rt({.procs = 1, .retake = false});
    std::atomic<bool> over = false;
    rt.go([&] {
        while (!over) {
            wait_group one;
            one.go([] {});
            one.wait();
        }
    });
    uint64_t most = 0;
    for (int i = 0; i < 200'000 || rt.stats().spawned < 200'000; ++i) most = std::max(most, rt.stats().live);
    over = true;
    rt.drain();
    EXPECT_LE(most, 2U);
    EXPECT_EQ(rt.stats().live, 0U);
}

}  // namespace
}  // namespace weft
