// stack_policy_test.cc: fixed stacks, and stacks grown by the fault handler, tested on the pool.
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "os/commit.h"
#include "os/os.h"
#include "stack/stack.h"
#include "support/build.h"
#include "support/resources.h"
#include "support/scale.h"
#include "support/units.h"

namespace weft::detail {
namespace {

using test::kib;

constexpr std::size_t small_class = 256 * kib;

// Stands for a G: a pooled stack does not grow.
G* const somebody = reinterpret_cast<G*>(alignof(std::max_align_t));

stack_pool::options with(stack_policy policy, std::size_t size = small_class) {
    return {.default_size = size, .cache_reserve = 0, .always_guard = false, .policy = policy};
}

class GrowingStack : public ::testing::Test {
protected:
    ~GrowingStack() override { os::fail_nth_for_test(os::failure::commit, 0); }

    stack* take() {
        EXPECT_EQ(pool_.reserve(1), 0);
        stack* s = pool_.take();
        s->owner = somebody;
        return s;
    }

    [[nodiscard]] static bool readable(const stack& s, std::size_t above_low) {
        return os::is_readable(s.low + above_low);
    }

    stack_pool pool_{with(stack_policy::growing)};
    const std::size_t page_ = os::page_size();
};

TEST_F(GrowingStack, HasEightKibibytesAtFirst) {
    const stack* s = take();
    EXPECT_GE(s->size(), small_class);
    const std::size_t below = s->uncommitted;
    EXPECT_GE(s->size() + 1024 + 64 - below, stack_initial);
    EXPECT_LE(s->size() - below, stack_initial);
    EXPECT_FALSE(readable(*s, 0));
    EXPECT_FALSE(readable(*s, below - 1));
    EXPECT_TRUE(readable(*s, below));
    EXPECT_TRUE(readable(*s, s->size() - 1));
    EXPECT_FALSE(os::is_readable(s->low - 1)) << "the guard";
}

TEST_F(GrowingStack, GrowsToTheFaultAndAStepBeyond) {
    stack* s = take();
    const std::size_t at = s->uncommitted - 100;
    EXPECT_EQ(pool_.grow(*s, s->low + at, nullptr), growth::grown);
    EXPECT_EQ(s->uncommitted, at / page_ * page_ - growth_step);
    EXPECT_TRUE(readable(*s, s->uncommitted));
    EXPECT_FALSE(readable(*s, s->uncommitted - 1));
    s->low[s->uncommitted] = std::byte{1};
}

TEST_F(GrowingStack, GrowsOverALargeFrameAtOnce) {
    stack* s = take();
    EXPECT_EQ(pool_.grow(*s, s->low + 100 * kib, nullptr), growth::grown);
    EXPECT_TRUE(readable(*s, 100 * kib));
    EXPECT_TRUE(readable(*s, 200 * kib)) << "what lies between";
}

TEST_F(GrowingStack, GrowsAtMostDownToTheGuard) {
    stack* s = take();
    EXPECT_EQ(pool_.grow(*s, s->low + 3, nullptr), growth::grown);
    EXPECT_EQ(s->uncommitted, 0U);
    EXPECT_TRUE(readable(*s, 0));
    EXPECT_EQ(pool_.grow(*s, s->low - 1, nullptr), growth::none);
    std::memset(s->low, 1, s->size());
}

TEST_F(GrowingStack, AFaultOnACommittedPageIsRetried) {
    stack* s = take();
    EXPECT_EQ(pool_.grow(*s, s->low + 100 * kib, nullptr), growth::grown);
    EXPECT_EQ(pool_.grow(*s, s->low + 100 * kib, nullptr), growth::grown);
}

TEST_F(GrowingStack, OtherFaultsInTheStackDoNotGrowIt) {
    stack* s = take();
    const std::byte* at = s->low + 100 * kib;
    EXPECT_EQ(pool_.grow(*s, at, at), growth::none) << "a jump into the stack";
    ASSERT_EQ(pool_.grow(*s, at, nullptr), growth::grown);
    ASSERT_TRUE(os::protect_pages(s->low + 120 * kib / page_ * page_, page_));
    EXPECT_EQ(pool_.grow(*s, s->low + 120 * kib, nullptr), growth::none) << "a page that its user has protected";
    s->owner = nullptr;
    EXPECT_EQ(pool_.grow(*s, s->low + 10 * kib, nullptr), growth::none) << "a stack that nobody uses";
}

TEST_F(GrowingStack, GrowsToTheFaultIfItCannotGrowAhead) {
    stack* s = take();
    os::fail_nth_for_test(os::failure::commit, 1);
    const std::size_t at = s->uncommitted - 1;
    EXPECT_EQ(pool_.grow(*s, s->low + at, nullptr), growth::grown);
    EXPECT_EQ(s->uncommitted, at / page_ * page_);
}

TEST_F(GrowingStack, KeepsErrno) {
    stack* s = take();
    errno = 77;
    EXPECT_EQ(pool_.grow(*s, s->low + 100 * kib, nullptr), growth::grown);
    EXPECT_EQ(pool_.grow(*s, s->low + 100 * kib, nullptr), growth::grown);
    EXPECT_EQ(errno, 77);
}

TEST_F(GrowingStack, OnlyAnUncommittedPageGivesEfault) {
    stack* s = take();
    EXPECT_FALSE(readable(*s, s->uncommitted - growth_step));
    const std::size_t at = s->uncommitted - 1;
    ASSERT_EQ(pool_.grow(*s, s->low + at, nullptr), growth::grown);
    EXPECT_TRUE(readable(*s, at - growth_step + page_));
}

TEST_F(GrowingStack, WithoutMemoryForFirstPagesRefusesTheCredit) {
    os::fail_nth_for_test(os::failure::commit, 1);
    EXPECT_EQ(pool_.reserve(1), ENOMEM);
    EXPECT_EQ(pool_.mapped(), 0U);
    os::fail_nth_for_test(os::failure::commit, 11);
    EXPECT_EQ(pool_.reserve(1), 0);
    EXPECT_EQ(pool_.mapped(), 10U) << "those that could be had";
    EXPECT_EQ(pool_.reserve(9), 0);
    for (int i = 0; i < 10; ++i) pool_.take()->low[small_class] = std::byte{1};
}

TEST_F(GrowingStack, UncommittedPagesCostNoMapping) {
    if (test::built_with_sanitizer) GTEST_SKIP() << "whose own mappings come and go";
    const std::size_t before = test::resources::now().mappings;
    std::vector<stack*> all;
    for (int i = 0; i < 256; ++i) all.push_back(take());
    const std::size_t with_stacks = test::resources::now().mappings;
    EXPECT_LE(with_stacks, before + 2 * 256 + 8);
    for (stack* s : all) EXPECT_EQ(pool_.grow(*s, s->low + 100 * kib, nullptr), growth::grown);
    EXPECT_LE(test::resources::now().mappings, with_stacks + 8) << "growing costs no mapping";
}

TEST_F(GrowingStack, LargerClassesGrow) {
    int error = 0;
    for (int size_class = 1; size_class < stack_classes; ++size_class) {
        stack* s = pool_.take_large(size_class, error);
        ASSERT_NE(s, nullptr);
        s->owner = somebody;
        EXPECT_GT(s->uncommitted, s->size() - 16 * kib);
        ASSERT_EQ(pool_.grow(*s, s->low, nullptr), growth::grown);
        s->low[0] = std::byte{1};
        s->owner = nullptr;
        static_cast<void>(pool_.give(s));
    }
}

TEST(GrowingStackEnd, InAKeptSlabOnlyOwnedStacksCostMappings) {
    if (test::built_with_sanitizer) GTEST_SKIP() << "whose own mappings come and go";
    const std::size_t before = test::resources::now().mappings;
    std::byte* kept = nullptr;
    {
        stack_pool pool(with(stack_policy::growing));
        ASSERT_EQ(pool.reserve(100), 0);
        for (int i = 0; i < 100; ++i) {
            stack* s = pool.take();
            if (i != 50) continue;
            s->owner = somebody;
            kept = s->low + s->size() - 1;
            *kept = std::byte{42};
            pool.keep(*s);
        }
    }
    EXPECT_EQ(*kept, std::byte{42});
    EXPECT_LE(test::resources::now().mappings, before + 8);
}

TEST(FixedStack, IsCommittedInFullFromTheStart) {
    stack_pool pool(with(stack_policy::fixed, 64 * kib));
    ASSERT_EQ(pool.reserve(1), 0);
    stack* s = pool.take();
    EXPECT_GE(s->size(), 64 * kib);
    EXPECT_EQ(s->uncommitted, 0U);
    std::memset(s->low, 1, s->size());
    EXPECT_EQ(pool.grow(*s, s->low, nullptr), growth::none);
}

TEST(FixedStack, LargerClassesAreMappedAFewAtATime) {
    stack_pool pool(with(stack_policy::fixed, 64 * kib));
    int error = 0;
    stack* s = pool.take_large(4, error);
    ASSERT_NE(s, nullptr);
    EXPECT_EQ(pool.mapped(), 1U);
    s = pool.take_large(1, error);
    ASSERT_NE(s, nullptr);
    EXPECT_EQ(pool.mapped(), 17U);
}

// ---- Trimming, under each policy.

class Trimming : public ::testing::TestWithParam<stack_policy> {
protected:
    // Uses n stacks to that depth.
    void burst(int n, std::size_t depth, int size_class = 0) {
        std::vector<stack*> taken;
        if (size_class == 0) {
            ASSERT_EQ(pool_.reserve(static_cast<uint32_t>(n)), 0);
        }
        for (int i = 0; i < n; ++i) {
            int error = 0;
            stack* s = size_class == 0 ? pool_.take() : pool_.take_large(size_class, error);
            ASSERT_NE(s, nullptr);
            s->owner = somebody;
            std::byte* at = s->low + s->size() - depth;
            if (s->uncommitted > s->size() - depth) {
                ASSERT_EQ(pool_.grow(*s, at, nullptr), growth::grown);
            }
            std::memset(at, 1, depth);
            s->owner = nullptr;
            taken.push_back(s);
        }
        for (stack* s : taken) static_cast<void>(pool_.give(s));
        if (size_class == 0) pool_.unreserve(static_cast<uint32_t>(n));
    }

    trimming trim_all() {
        trimming all;
        for (int rounds = 0; rounds < 2;) {
            const trimming one = pool_.trim(50);
            EXPECT_LE(one.stacks, 50U);
            all.stacks += one.stacks;
            all.bytes += one.bytes;
            if (!one.more) ++rounds;
        }
        return all;
    }

    stack_pool pool_{with(GetParam())};
};

std::string name_of(const ::testing::TestParamInfo<stack_policy>& p) {
    if (p.param == stack_policy::paged) return "paged";
    return p.param == stack_policy::fixed ? "fixed" : "growing";
}

INSTANTIATE_TEST_SUITE_P(Policies,
                         Trimming,
                         ::testing::Values(stack_policy::paged, stack_policy::fixed, stack_policy::growing),
                         name_of);

constexpr bool resident_memory_is_ours = !test::built_with_sanitizer && !test::emulated;

TEST_P(Trimming, MemoryOfADeepBurstIsReturned) {
    if (!resident_memory_is_ours) GTEST_SKIP() << "a sanitizer or an emulator has memory of its own";
    burst(1000, 4 * kib);
    test::give_heap_back();
    const std::size_t base = test::resources::now().resident_kib;
    burst(1000, 200 * kib);
    const std::size_t full = test::resources::now().resident_kib;
    EXPECT_GE(full, base + 1000 * 190);
    const trimming done = trim_all();
    EXPECT_EQ(done.stacks, 1000U);
    EXPECT_GE(done.bytes, 1000 * 188 * kib);
    EXPECT_EQ(pool_.trimmed_bytes(), done.bytes);
    EXPECT_LE(test::resources::now().resident_kib, base + base / 10);
    EXPECT_EQ(pool_.mapped(), 0U) << "whole slabs are unmapped";
    EXPECT_GE(pool_.unmapped(), 1000U);
}

TEST_P(Trimming, LargeClassesAreTrimmed) {
    if (!resident_memory_is_ours) GTEST_SKIP() << "a sanitizer or an emulator has memory of its own";
    test::give_heap_back();
    const std::size_t base = test::resources::now().resident_kib;
    burst(20, 900 * kib, 1);
    burst(3, 15 * 1024 * kib, 3);
    EXPECT_GE(test::resources::now().resident_kib, base + 60'000);
    EXPECT_EQ(trim_all().stacks, 23U);
    EXPECT_LE(test::resources::now().resident_kib, base + base / 10 + 1000);
}

TEST_P(Trimming, StacksThatAreTrimmedAreUsedAgain) {
    burst(300, 100 * kib);
    const uint64_t mapped = pool_.mapped();
    EXPECT_EQ(trim_all().stacks, 300U);
    EXPECT_EQ(trim_all().stacks, 0U) << "there is nothing left to do";
    burst(300, 100 * kib);
    EXPECT_EQ(pool_.mapped(), mapped);
    EXPECT_EQ(trim_all().stacks, 300U);
}

TEST_P(Trimming, TheFirstCallTrimsNothing) {
    burst(10, 100 * kib);
    EXPECT_EQ(pool_.trim(100).stacks, 0U);
    EXPECT_EQ(pool_.trim(100).stacks, 10U);
}

TEST_P(Trimming, StacksUsedBetweenTwoCallsAreKept) {
    burst(100, 100 * kib);
    EXPECT_EQ(pool_.trim(1000).stacks, 0U);
    burst(60, 100 * kib);
    EXPECT_EQ(pool_.trim(1000).stacks, 40U) << "as many as were never needed";
    burst(60, 100 * kib);
    EXPECT_EQ(pool_.trim(1000).stacks, 0U);
    EXPECT_EQ(pool_.trim(1000).stacks, 60U);
}

TEST_P(Trimming, ACallTrimsAtMostItsLimit) {
    burst(100, 100 * kib);
    EXPECT_EQ(pool_.trim(30).stacks, 0U);
    uint32_t stacks = 0;
    for (bool more = true; more;) {
        const trimming one = pool_.trim(30);
        EXPECT_LE(one.stacks, 30U);
        stacks += one.stacks;
        more = one.more;
        EXPECT_EQ(one.over, !more);
    }
    EXPECT_EQ(stacks, 100U);
}

TEST_P(Trimming, ACreditedStackIsDiscardedAndReadsAsZero) {
    burst(1, 200 * kib);
    std::byte* const low = [&] {
        EXPECT_EQ(pool_.reserve(1), 0);
        stack* s = pool_.take();
        s->low[s->size() - 1] = std::byte{42};
        static_cast<void>(pool_.give(s));
        return s->low;
    }();
    EXPECT_EQ(trim_all().stacks, 1U);
    stack* s = pool_.take();
    ASSERT_EQ(s->low, low);
    s->owner = somebody;
    EXPECT_EQ(s->low[s->size() - 1], std::byte{0}) << "its top went back, too";
    if (GetParam() == stack_policy::growing) {
        EXPECT_GE(s->uncommitted, s->size() - stack_initial);
        EXPECT_FALSE(os::is_readable(s->low + s->uncommitted - 1));
        ASSERT_EQ(pool_.grow(*s, s->low + 100 * kib, nullptr), growth::grown);
    }
    EXPECT_EQ(s->low[s->size() - 100 * kib], std::byte{0});
    s->owner = nullptr;
    static_cast<void>(pool_.give(s));
}

TEST_P(Trimming, ASlabWithAStackInUseStaysMapped) {
    ASSERT_EQ(pool_.reserve(1), 0);
    stack* used = pool_.take();
    used->owner = somebody;
    used->low[used->size() - 1] = std::byte{42};
    burst(100, 8 * kib);
    const uint64_t mapped = pool_.mapped();
    EXPECT_EQ(trim_all().stacks, 100U);
    EXPECT_EQ(pool_.mapped(), mapped);
    EXPECT_EQ(pool_.unmapped(), 0U);
    EXPECT_EQ(used->low[used->size() - 1], std::byte{42});
    bool in_guard = false;
    EXPECT_EQ(pool_.find(used->low, in_guard), used);
    const stack* next = pool_.find(used->low + used->size() + guard_size + 2 * os::page_size(), in_guard);
    EXPECT_EQ(next, nullptr) << "a slot without a record";
    burst(100, 8 * kib);
    EXPECT_EQ(pool_.mapped(), mapped);
}

TEST_P(Trimming, AnAddressInAnUnmappedSlabFindsNothing) {
    burst(1, 8 * kib);
    ASSERT_EQ(pool_.reserve(1), 0);
    stack* s = pool_.take();
    const std::byte* low = s->low;
    static_cast<void>(pool_.give(s));
    pool_.unreserve(1);
    EXPECT_EQ(trim_all().stacks, 1U);
    bool in_guard = false;
    EXPECT_EQ(pool_.find(low, in_guard), nullptr);
}

TEST_P(Trimming, CreditedSlotsStayMapped) {
    burst(2000, 1 * kib);
    ASSERT_EQ(pool_.reserve(700), 0);
    EXPECT_EQ(trim_all().stacks, 2000U);
    EXPECT_GE(pool_.mapped(), 700U);
    EXPECT_LT(pool_.mapped(), 1500U);
    for (int i = 0; i < 700; ++i) pool_.take()->low[small_class - 1] = std::byte{1};
}

// Even if no stack was taken.
TEST_P(Trimming, SlotsCreditedSinceTheLastRoundStayMapped) {
    burst(1000, 1 * kib);
    EXPECT_EQ(pool_.trim(1000).stacks, 0U);
    const uint64_t mapped = pool_.mapped();
    ASSERT_EQ(pool_.reserve(static_cast<uint32_t>(mapped)), 0);
    pool_.unreserve(static_cast<uint32_t>(mapped));
    while (pool_.trim(1000).more) {}
    EXPECT_EQ(pool_.mapped(), mapped);
    EXPECT_EQ(trim_all().stacks, 0U);
    EXPECT_EQ(pool_.mapped(), 0U) << "in the round after that they go";
}

TEST_P(Trimming, RetiredStacksAreReusedBeforeNewOnes) {
    burst(1000, 4 * kib);
    while (pool_.trim(1000).more) {}
    const uint64_t mapped = pool_.mapped();
    EXPECT_EQ(pool_.trim(8).stacks, 0U) << "retires 64 of them";
    burst(1000, 4 * kib);
    EXPECT_EQ(pool_.mapped(), mapped);
    EXPECT_EQ(pool_.trimmed_bytes(), 0U);
}

// Few stacks are in use, but never for a whole round.
TEST_P(Trimming, AnOscillatingLoadLosesNothing) {
    burst(1000, 4 * kib);
    for (int period = 0; period < 20; ++period) {
        while (pool_.trim(10'000).more) {}
        burst(10, 4 * kib);
        burst(1000, 4 * kib);
    }
    EXPECT_EQ(pool_.trimmed_bytes(), 0U);
    EXPECT_EQ(pool_.unmapped(), 0U);
}

TEST_P(Trimming, RequestsATrimOnlyOnce) {
    ASSERT_EQ(pool_.reserve(2), 0);
    stack* a = pool_.take();
    stack* b = pool_.take();
    EXPECT_TRUE(pool_.give(a));
    EXPECT_FALSE(pool_.give(b));
    trimming last;
    do {
        last = pool_.trim(100);
    } while (!last.over);
    a = pool_.take();
    EXPECT_TRUE(pool_.give(a)) << "after it was over";
}

TEST_P(Trimming, PagesThatCannotBeDiscardedStayWithTheirStacks) {
    if (test::built_with_sanitizer) GTEST_SKIP() << "whose mlock() does nothing";
    burst(50, 8 * kib);
    ASSERT_EQ(pool_.reserve(50), 0);  // so that they are blanked one by one
    stack* s = pool_.take();
    std::byte* const top = s->low + s->size() - 1;
    *top = std::byte{42};
    static_cast<void>(pool_.give(s));
    void* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(top) & ~(os::page_size() - 1));
    if (::mlock(page, os::page_size()) != 0) GTEST_SKIP() << "no memory may be locked here";
    for (int rounds = 0; rounds < 3; ++rounds) EXPECT_LE(trim_all().stacks, 49U);
    EXPECT_EQ(*top, std::byte{42});
    ASSERT_EQ(::munlock(page, os::page_size()), 0);
    for (int i = 0; i < 50; ++i) {
        stack* one = pool_.take();
        one->owner = somebody;
        one->low[one->size() - 1] = std::byte{1};
    }
}

// A stack trimmed while in use would lose what was written.
TEST_P(Trimming, RacesWithTakeAndGive) {
    constexpr int threads = 3;
    const int rounds = test::scaled(400);
    ASSERT_EQ(pool_.reserve_for_caches(trimmed_at_once), 0);  // for what trim() holds
    std::atomic<int> at_work{threads};
    std::atomic<int> wrong{0};
    const auto work = [&](uint32_t seed) {
        prng random(seed);
        std::vector<std::pair<stack*, std::byte>> mine;
        for (int round = 0; round < rounds; ++round) {
            const uint32_t n = 1 + random.below(300);
            if (pool_.reserve(n) != 0) continue;
            for (uint32_t i = 0; i < n; ++i) {
                stack* s = pool_.take();
                const std::byte mark{static_cast<unsigned char>(1 + random.below(255))};
                s->owner = somebody;
                s->low[s->size() - 1] = s->low[s->size() - 4 * kib] = mark;
                mine.emplace_back(s, mark);
            }
            if (random.below(4) == 0) std::this_thread::yield();
            for (const auto& [s, mark] : mine) {
                if (s->owner != somebody || s->low[s->size() - 1] != mark || s->low[s->size() - 4 * kib] != mark)
                    ++wrong;
                s->owner = nullptr;
                static_cast<void>(pool_.give(s));
            }
            mine.clear();
            pool_.unreserve(n);
        }
        --at_work;
    };
    std::vector<std::thread> all;
    for (uint32_t i = 0; i < threads; ++i) all.emplace_back(work, i + 1);
    prng random(threads + 1);
    while (at_work != 0) {
        static_cast<void>(pool_.trim(1 + random.below(100)));
        bool in_guard = false;
        static_cast<void>(pool_.find(&in_guard, in_guard));
    }
    for (std::thread& t : all) t.join();
    EXPECT_EQ(wrong, 0);
    pool_.unreserve_for_caches(trimmed_at_once);
    static_cast<void>(trim_all());
    EXPECT_GT(pool_.trimmed_bytes(), 0U);
    EXPECT_EQ(pool_.mapped(), 0U);
}

// ---- Depth of use.

TEST_P(Trimming, TheDepthOfAStackEndsAtItsLowestPage) {
    ASSERT_EQ(pool_.reserve(1), 0);
    stack* s = pool_.take();
    s->owner = somebody;
    const std::size_t page = os::page_size();
    EXPECT_LE(touched_bytes(*s), 2 * page);
    for (const std::size_t depth : {20 * kib, 90 * kib, 250 * kib}) {
        std::byte* at = s->low + s->size() - depth;
        if (s->uncommitted > s->size() - depth) {
            ASSERT_EQ(pool_.grow(*s, at, nullptr), growth::grown);
        }
        *at = std::byte{1};
        EXPECT_GE(touched_bytes(*s), depth);
        EXPECT_LE(touched_bytes(*s), depth + page);
    }
    EXPECT_GE(pool_.discard_depth(*s), 250 * kib - 2 * page);
    EXPECT_LE(touched_bytes(*s), page);
    s->low[s->size() - 1] = std::byte{1};
    s->owner = nullptr;
}

}  // namespace
}  // namespace weft::detail
