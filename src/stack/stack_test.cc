// stack_test.cc: the stack pool: sizes, addresses, credits and reuse.
#include "stack/stack.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "os/os.h"
#include "support/build.h"
#include "support/resources.h"
#include "support/units.h"

namespace weft::detail {
namespace {

using test::kib;
using test::mib;

constexpr std::size_t small = 256 * kib;
constexpr uint32_t first_slab = 256;  // slots

class StackPool : public ::testing::Test {
protected:
    ~StackPool() override {
        os::fail_nth_for_test(os::failure::map, 0);
        while (!taken_.empty()) give(0);
    }

    static stack_pool::options with(std::size_t size, uint32_t cache_reserve = 0) {
        return {.default_size = size, .cache_reserve = cache_reserve, .always_guard = false};
    }

    void take(std::size_t n, stack_pool& from) {
        ASSERT_EQ(from.reserve(static_cast<uint32_t>(n)), 0);
        for (std::size_t i = 0; i < n; ++i) {
            taken_.push_back(from.take());
            taken_.back()->sanitizers.begin_g();
        }
    }

    void take(std::size_t n) { take(n, pool_); }

    void give(std::size_t i) {
        stack* s = taken_[i];
        taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(i));
        s->sanitizers.end_g();
        static_cast<void>(pool_.give(s));
        pool_.unreserve(1);
    }

    stack_pool pool_{with(small)};
    std::vector<stack*> taken_;
};

TEST_F(StackPool, ThereAreTheDefaultSizeAndFourLargerOnes) {
    EXPECT_EQ(pool_.usable_size(0), small);
    EXPECT_EQ(pool_.usable_size(1), 1 * mib);
    EXPECT_EQ(pool_.usable_size(2), 4 * mib);
    EXPECT_EQ(pool_.usable_size(3), 16 * mib);
    EXPECT_EQ(pool_.usable_size(4), 64 * mib);
}

TEST_F(StackPool, ASizeGetsTheSmallestClassThatHoldsIt) {
    EXPECT_EQ(pool_.class_for(0), 0);
    EXPECT_EQ(pool_.class_for(1), 0);
    EXPECT_EQ(pool_.class_for(small), 0);
    EXPECT_EQ(pool_.class_for(small + 1), 1);
    EXPECT_EQ(pool_.class_for(1 * mib), 1);
    EXPECT_EQ(pool_.class_for(1 * mib + 1), 2);
    EXPECT_EQ(pool_.class_for(4 * mib), 2);
    EXPECT_EQ(pool_.class_for(16 * mib), 3);
    EXPECT_EQ(pool_.class_for(64 * mib), 4);
    EXPECT_EQ(pool_.class_for(64 * mib + 1), -1);
    EXPECT_EQ(pool_.class_for(SIZE_MAX), -1);
}

TEST_F(StackPool, ADefaultLargerThanOtherClassesSkipsThose) {
    const stack_pool large(with(2 * mib));
    EXPECT_EQ(large.class_for(2 * mib), 0);
    EXPECT_EQ(large.class_for(2 * mib + 1), 2);
}

TEST_F(StackPool, EveryStackHasAtLeastTheUsableSize) {
    for (const std::size_t size : {16 * kib, small, small + 1, 3 * mib}) {
        stack_pool pool(with(size));
        ASSERT_EQ(pool.reserve(40), 0);
        for (int i = 0; i < 40; ++i) {
            stack* s = pool.take();
            EXPECT_GE(s->size(), size);
            EXPECT_LT(s->size(), size + 3 * os::page_size());
            EXPECT_EQ(s->size_class, 0);
        }
    }
}

TEST_F(StackPool, StacksLieAnOddNumberOfPagesApart) {
    for (const std::size_t size : {16 * kib, 64 * kib, small, 1 * mib}) {
        stack_pool pool(with(size));
        ASSERT_EQ(pool.reserve(3), 0);
        const std::byte* first = pool.take()->low;
        const std::byte* second = pool.take()->low;
        const std::byte* third = pool.take()->low;
        const auto stride = static_cast<std::size_t>(second - first);
        EXPECT_EQ(static_cast<std::size_t>(third - second), stride);
        EXPECT_EQ(stride % os::page_size(), 0U);
        EXPECT_EQ(stride / os::page_size() % 2, 1U) << stride;
    }
}

TEST_F(StackPool, NeighboursTopsFallOnSixteenDifferentCacheLines) {
    take(48);
    for (std::size_t from = 0; from + 16 <= taken_.size(); ++from) {
        std::set<uintptr_t> lines;
        for (std::size_t i = from; i < from + 16; ++i) {
            const auto top = reinterpret_cast<uintptr_t>(taken_[i]->top());
            EXPECT_EQ(top % 64, 0U);
            lines.insert(top % 1024);
        }
        EXPECT_EQ(lines.size(), 16U);
    }
}

TEST_F(StackPool, StacksDoNotOverlapNorDoTheirGuards) {
    take(600);
    std::set<const std::byte*> ends;
    for (stack* s : taken_) ends.insert(s->low);
    ASSERT_EQ(ends.size(), taken_.size());
    for (stack* s : taken_) {
        const auto above = ends.upper_bound(s->low);
        if (above == ends.end()) continue;
        EXPECT_LE(static_cast<std::byte*>(s->top()) + sizeof(stack), *above - guard_size);
    }
}

TEST_F(StackPool, AllOfAStackCanBeWrittenAndIsZeroAtFirst) {
    take(20);
    for (stack* s : taken_) {
        EXPECT_TRUE(canary_intact(*s));
        EXPECT_EQ(s->low[s->size() / 2], std::byte{0});
        std::memset(s->low, 1, s->size());
    }
}

TEST_F(StackPool, TheNewestReturnedStackIsTakenFirst) {
    take(3);
    stack* const a = taken_[0];
    stack* const b = taken_[1];
    give(0);
    give(0);
    take(2);
    EXPECT_EQ(taken_[1], b);
    EXPECT_EQ(taken_[2], a);
}

TEST_F(StackPool, ReturnedStacksAreUsedBeforeNewOnes) {
    take(100);
    const std::set<stack*> before(taken_.begin(), taken_.end());
    while (!taken_.empty()) give(0);
    take(100);
    EXPECT_EQ(std::set<stack*>(taken_.begin(), taken_.end()), before);
}

TEST_F(StackPool, ABatchHoldsOnlyReturnedStacks) {
    EXPECT_TRUE(pool_.take_reused(5).empty());
    take(10);
    EXPECT_TRUE(pool_.take_reused(5).empty()) << "new stacks are not for caches";
    while (!taken_.empty()) give(0);
    fifo<stack> batch = pool_.take_reused(4);
    EXPECT_EQ(batch.size(), 4U);
    fifo<stack> rest = pool_.take_reused(100);
    EXPECT_EQ(rest.size(), 6U);
    static_cast<void>(pool_.give(batch));
    EXPECT_TRUE(batch.empty());
    batch = pool_.take_reused(100);
    EXPECT_EQ(batch.size(), 4U);
    static_cast<void>(pool_.give(batch));
    static_cast<void>(pool_.give(rest));
}

// ---- Credits.

TEST_F(StackPool, NothingIsMappedBeforeItIsNeeded) {
    EXPECT_EQ(pool_.reserve(0), 0);
    EXPECT_EQ(pool_.mapped(), 0U);
}

TEST_F(StackPool, CreditsAndCacheReserveNeverExceedWhatIsMapped) {
    constexpr uint32_t reserve = 66;
    stack_pool pool(with(small, reserve));
    EXPECT_EQ(pool.reserve(0), 0);
    EXPECT_EQ(pool.mapped(), first_slab);
    EXPECT_EQ(pool.reserve(first_slab - reserve), 0);
    EXPECT_EQ(pool.mapped(), first_slab) << "exactly all credits fit";
    EXPECT_EQ(pool.reserve(1), 0);
    EXPECT_GT(pool.mapped(), first_slab);
}

TEST_F(StackPool, ReturnedCreditsAreReused) {
    ASSERT_EQ(pool_.reserve(first_slab), 0);
    for (uint32_t i = 0; i < 1000; ++i) {
        pool_.unreserve(1 + i % first_slab);
        ASSERT_EQ(pool_.reserve(1 + i % first_slab), 0);
    }
    EXPECT_EQ(pool_.mapped(), first_slab);
}

TEST_F(StackPool, MappingsGrowWithUseUpToALimit) {
    std::vector<uint64_t> steps;
    uint64_t before = 0;
    for (int i = 0; i < 70; ++i) {
        ASSERT_EQ(pool_.reserve(first_slab), 0);
        if (pool_.mapped() != before) steps.push_back(pool_.mapped() - before);
        before = pool_.mapped();
    }
    EXPECT_EQ(steps, (std::vector<uint64_t>{256, 256, 512, 1024, 2048, 4096, 4096, 4096, 4096}));
}

TEST_F(StackPool, AsManyStacksCanBeTakenAsThereAreCredits) {
    take(3 * first_slab);
    EXPECT_EQ(std::set<stack*>(taken_.begin(), taken_.end()).size(), 3 * first_slab);
    EXPECT_GE(pool_.mapped(), 3 * first_slab);
}

TEST_F(StackPool, AFailedMappingIsAnErrorAndTakesNoCredit) {
    os::fail_nth_for_test(os::failure::map, 1);
    EXPECT_EQ(pool_.reserve(1), ENOMEM);
    EXPECT_EQ(pool_.mapped(), 0U);
    take(first_slab);
    os::fail_nth_for_test(os::failure::map, 1);
    EXPECT_EQ(pool_.reserve(1), ENOMEM);
    EXPECT_EQ(pool_.mapped(), first_slab);
    give(0);
    take(1);
    EXPECT_EQ(pool_.mapped(), first_slab) << "the failure had taken a credit";
    ASSERT_EQ(pool_.reserve(1), 0);
    EXPECT_EQ(pool_.mapped(), 2 * first_slab);
}

// ---- Larger stacks.

TEST_F(StackPool, LargerStacksHaveTheirSizeAndAreReused) {
    for (int size_class = 1; size_class < stack_classes; ++size_class) {
        int error = 0;
        stack* const s = pool_.take_large(size_class, error);
        ASSERT_NE(s, nullptr) << size_class;
        EXPECT_EQ(s->size_class, size_class);
        EXPECT_GE(s->size(), pool_.usable_size(size_class));
        s->low[0] = std::byte{1};
        s->low[s->size() - 1] = std::byte{1};
        stack* const other = pool_.take_large(size_class, error);
        EXPECT_NE(other, s);
        static_cast<void>(pool_.give(s));
        EXPECT_EQ(pool_.take_large(size_class, error), s);
        static_cast<void>(pool_.give(s));
        static_cast<void>(pool_.give(other));
    }
}

TEST_F(StackPool, ManyLargerStacksNeedMoreThanOneMapping) {
    std::set<stack*> all;
    int error = 0;
    for (int i = 0; i < 50; ++i) all.insert(pool_.take_large(1, error));
    EXPECT_EQ(all.size(), 50U);
    EXPECT_FALSE(all.contains(nullptr));
    EXPECT_GE(pool_.mapped(), 50U);
    for (stack* s : all) static_cast<void>(pool_.give(s));
}

TEST_F(StackPool, LargerStacksDoNotUseUpTheCreditsOfTheDefaultOnes) {
    int error = 0;
    stack* const s = pool_.take_large(1, error);
    const uint64_t before = pool_.mapped();
    take(first_slab);
    EXPECT_EQ(pool_.mapped(), before + first_slab);
    static_cast<void>(pool_.give(s));
}

TEST_F(StackPool, AFailedMappingOfALargerStackReturnsTheError) {
    os::fail_nth_for_test(os::failure::map, 1);
    int error = 0;
    EXPECT_EQ(pool_.take_large(2, error), nullptr);
    EXPECT_EQ(error, ENOMEM);
    EXPECT_EQ(pool_.mapped(), 0U);
    stack* const s = pool_.take_large(2, error);
    ASSERT_NE(s, nullptr);
    static_cast<void>(pool_.give(s));
}

// ---- Finding the stack of an address.

TEST_F(StackPool, AnAddressInAStackFindsIt) {
    take(300);  // of two mappings
    int error = 0;
    taken_.push_back(pool_.take_large(1, error));
    for (stack* s : taken_) {
        for (const std::byte* at : {s->low, s->low + s->size() / 2, s->low + s->size() - 1}) {
            bool in_guard = true;
            EXPECT_EQ(pool_.find(at, in_guard), s);
            EXPECT_FALSE(in_guard);
        }
    }
    static_cast<void>(pool_.give(taken_.back()));
    taken_.pop_back();
}

TEST_F(StackPool, AnAddressInAGuardFindsTheStackAboveIt) {
    take(300);
    for (stack* s : taken_) {
        for (const std::size_t below : {std::size_t{1}, std::size_t{4096}, guard_size}) {
            bool in_guard = false;
            EXPECT_EQ(pool_.find(s->low - below, in_guard), s);
            EXPECT_TRUE(in_guard);
        }
    }
}

TEST_F(StackPool, AnAddressElsewhereFindsNothing) {
    take(1);
    bool in_guard = false;
    int local = 0;
    const auto heap = std::make_unique<int>();
    EXPECT_EQ(pool_.find(nullptr, in_guard), nullptr);
    EXPECT_EQ(pool_.find(&local, in_guard), nullptr);
    EXPECT_EQ(pool_.find(heap.get(), in_guard), nullptr);
    EXPECT_EQ(pool_.find(reinterpret_cast<void*>(UINTPTR_MAX), in_guard), nullptr);
    EXPECT_EQ(pool_.find(taken_[0]->low - guard_size - 1, in_guard), nullptr);
    // Mapped, but not carved yet.
    EXPECT_EQ(pool_.find(taken_[0]->low + 2 * (small + guard_size), in_guard), nullptr);
}

TEST(StackPoolEnd, EverythingIsUnmapped) {
    if (test::built_with_sanitizer) GTEST_SKIP() << "whose own mappings come and go";
    const test::resources before = test::resources::now();
    {
        stack_pool pool({.default_size = small, .cache_reserve = 0, .always_guard = false});
        ASSERT_EQ(pool.reserve(10'000), 0);
        for (int i = 0; i < 3000; ++i) pool.take()->low[0] = std::byte{1};
        int error = 0;
        for (int size_class = 1; size_class < stack_classes; ++size_class)
            ASSERT_NE(pool.take_large(size_class, error), nullptr);
        EXPECT_GT(test::resources::now().virtual_kib, before.virtual_kib + 10'000 * small / kib);
    }
    const test::resources after = test::resources::now();
    EXPECT_LE(after.mappings, before.mappings + 2);
    if (!test::untouched_pages_are_free()) GTEST_SKIP() << "the emulator's notes on pages count as ours";
    EXPECT_LE(after.virtual_kib, before.virtual_kib + 4096);
    EXPECT_LE(after.resident_kib, before.resident_kib + 8192);
}

}  // namespace
}  // namespace weft::detail
