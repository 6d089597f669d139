// g_pool_test.cc: unneeded Gs return their memory to the system; their addresses stay.
#include "sched/g_pool.h"

#include <atomic>
#include <cstdint>
#include <new>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "os/commit.h"
#include "os/os.h"
#include "sched/freeze.h"
#include "support/scale.h"

namespace weft::detail {
namespace {

class GPoolMemory : public ::testing::Test {
protected:
    std::vector<G*> take(uint32_t n) {
        std::vector<G*> all;
        while (all.size() < n) {
            fifo<G> some = pool_.take(n - static_cast<uint32_t>(all.size()));
            if (some.empty()) pool_.add_block();
            while (G* g = some.pop_front()) {
                EXPECT_EQ(g->state.load(), g_state::dead);
                all.push_back(g);
            }
        }
        return all;
    }

    void give(const std::vector<G*>& all) {
        fifo<G> batch;
        for (G* g : all) batch.push_back(g);
        static_cast<void>(pool_.give(batch));
    }

    // Runs two rounds; the first only measures. Returns the bytes.
    uint64_t trim_all() {
        uint64_t bytes = 0;
        for (int rounds = 0; rounds < 2;) {
            const trimming one = pool_.trim(1000);
            bytes += one.bytes;
            if (!one.more) ++rounds;
        }
        return bytes;
    }

    std::size_t count() {
        std::size_t n = 0;
        pool_.for_each([&](const G&) { ++n; });
        return n;
    }

    g_pool pool_;
    const std::size_t page_ = os::page_size();
};

constexpr uint32_t many = 20'000;

TEST_F(GPoolMemory, ReturnsMemoryOfUnusedGsAndKeepsTheirAddresses) {
    const std::vector<G*> all = take(many);
    EXPECT_EQ(std::set<G*>(all.begin(), all.end()).size(), many);
    give(all);
    EXPECT_GE(trim_all(), many * sizeof(G));
    EXPECT_EQ(count(), 0U);
    for (const G* g : all) EXPECT_EQ(g->state.load(), g_state::idle);
    EXPECT_EQ(pool_.find(all[many / 2]), nullptr);
}

TEST_F(GPoolMemory, RecreatesGsAtTheirOldAddresses) {
    std::vector<G*> all = take(many);
    give(all);
    static_cast<void>(trim_all());
    const std::vector<G*> again = take(many);
    for (const G* g : again) EXPECT_EQ(pool_.find(g), g);
    const std::set<G*> before(all.begin(), all.end());
    std::size_t reused = 0;
    for (G* g : again) reused += before.count(g);
    EXPECT_GE(reused, many - many / 100);
}

TEST_F(GPoolMemory, APageWithAGInUseStays) {
    std::vector<G*> all = take(many);
    G* used = all[many / 2];
    used->id = 42;
    all.erase(all.begin() + many / 2);
    give(all);
    const uint64_t bytes = trim_all();
    EXPECT_GE(bytes, (many - 2 * page_ / sizeof(G)) * sizeof(G) / page_ * page_);
    EXPECT_EQ(used->id, 42U);
    EXPECT_EQ(used->state.load(), g_state::dead);
    EXPECT_EQ(count(), page_ / sizeof(G)) << "it and its neighbours in the page";
    give({used});
    EXPECT_EQ(trim_all(), page_) << "the others go when it has gone";
}

TEST_F(GPoolMemory, KeepsGsThatAreUsedBetweenTwoRounds) {
    give(take(many));
    while (pool_.trim(1000).more) {}
    for (int round = 0; round < 10; ++round) {
        give(take(many));
        while (pool_.trim(1000).more) {}
    }
    EXPECT_LE(pool_.trimmed_bytes(), g_pool::block_size * sizeof(G)) << "what was made and not taken";
}

TEST_F(GPoolMemory, WithoutAddressSpaceThrowsAndLosesNoG) {
    os::fail_nth_for_test(os::failure::map, 1);
    EXPECT_THROW(pool_.add_block(), std::bad_alloc);
    EXPECT_TRUE(pool_.take(1).empty());
    pool_.add_block();
    EXPECT_EQ(pool_.take(1000).size(), g_pool::block_size);
}

TEST_F(GPoolMemory, ReusesRetiredGsBeforeNewOnes) {
    give(take(many));
    while (pool_.trim(1000).more) {}
    EXPECT_EQ(pool_.trim(64).bytes, 0U) << "only retires 64";
    const std::size_t before = count();
    give(take(many));
    EXPECT_EQ(count(), before);
}

TEST_F(GPoolMemory, RequestsATrimOnlyOnce) {
    const std::vector<G*> all = take(2);
    fifo<G> batch;
    batch.push_back(all[0]);
    EXPECT_TRUE(pool_.give(batch));
    batch.push_back(all[1]);
    EXPECT_FALSE(pool_.give(batch));
    for (trimming last; !last.over;) last = pool_.trim(1000);
    batch = pool_.take(1);
    if (batch.empty()) pool_.add_block();
    batch = pool_.take(1);
    EXPECT_TRUE(pool_.give(batch));
}

TEST_F(GPoolMemory, NothingIsDiscardedWhileGsAreFrozen) {
    const std::vector<G*> all = take(many);
    give(all);
    while (pool_.trim(1000).more) {}
    std::atomic<bool> done{false};
    std::thread trimmer;
    {
        G* const one = all[many / 2];
        const frozen still(&one, 1);
        trimmer = std::thread([&] {
            while (pool_.trim(1000).more) {}
            done = true;
        });
        os::sleep_ns(5'000'000);
        EXPECT_FALSE(done);
        EXPECT_NE(one->special.load() & special::frozen, 0);
    }
    trimmer.join();
    EXPECT_EQ(count(), 0U);
}

TEST_F(GPoolMemory, TrimmingRacesWithTakeAndGive) {
    constexpr int threads = 3;
    const int rounds = test::scaled(1'000);
    std::atomic<int> at_work{threads};
    std::atomic<int> wrong{0};
    const auto work = [&](uint32_t seed) {
        prng random(seed);
        for (int round = 0; round < rounds; ++round) {
            const std::vector<G*> mine = take(1 + random.below(500));
            for (G* g : mine) {
                g->set_state(g_state::dead, g_state::runnable);
                g->id = seed;
            }
            if (random.below(4) == 0) std::this_thread::yield();
            for (G* g : mine) {
                if (g->id != seed) ++wrong;
                g->set_state(g_state::runnable, g_state::dead);
            }
            give(mine);
        }
        --at_work;
    };
    std::vector<std::thread> all;
    for (uint32_t i = 0; i < threads; ++i) all.emplace_back(work, i + 1);
    all.emplace_back([&] {
        while (at_work != 0) static_cast<void>(count());
    });
    prng random(threads + 1);
    while (at_work != 0) static_cast<void>(pool_.trim(64 + random.below(1000)));
    for (std::thread& t : all) t.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(pool_.trimmed_bytes(), 0U);
    static_cast<void>(trim_all());
    EXPECT_EQ(count(), 0U);
}

}  // namespace
}  // namespace weft::detail
