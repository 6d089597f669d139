// reader_slots_test.cc: only the sum of slots is meaningful; closed slots refuse readers.
#include "sync/reader_slots.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/scale.h"

namespace weft::detail {
namespace {

struct destroyer {
    void operator()(reader_slots* s) const noexcept { reader_slots::destroy(s); }
};

std::unique_ptr<reader_slots, destroyer> make(uint32_t log2_count) {
    return std::unique_ptr<reader_slots, destroyer>(reader_slots::make(log2_count));
}

TEST(ReaderSlots, AreClosedAtFirst) {
    const auto slots = make(2);
    for (uint32_t i = 0; i < 8; ++i) {
        EXPECT_FALSE(slots->enter(i));
        EXPECT_FALSE(slots->leave(i));
    }
    EXPECT_EQ(slots->look(), 0);
}

TEST(ReaderSlots, CountEntersMinusLeavesOverAllSlots) {
    const auto slots = make(3);
    slots->open();
    for (uint32_t i = 0; i < 20; ++i) EXPECT_TRUE(slots->enter(i));  // wraps around
    for (uint32_t i = 0; i < 13; ++i) EXPECT_TRUE(slots->leave(5));
    EXPECT_EQ(slots->look(), 7);
    EXPECT_EQ(slots->close(), 7);
    EXPECT_EQ(slots->look(), 0);
    EXPECT_FALSE(slots->leave(5));
    slots->open();
    EXPECT_TRUE(slots->leave(1));
    EXPECT_EQ(slots->close(), -1);
}

TEST(ReaderSlots, EachLiesOnACacheLineOfItsOwn) {
    const auto slots = make(0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slots.get()) % cache_line, 0U);
}

TEST(ReaderSlots, ClosingCountsEachReaderOnce) {
    const auto slots = make(2);
    for (int round = test::scaled(2000); round > 0; --round) {
        slots->open();
        std::atomic<int64_t> in{0};
        std::atomic<bool> begin{false};
        std::vector<std::thread> readers;
        for (uint32_t t = 0; t < 2; ++t) {
            readers.emplace_back([&, t] {
                while (!begin) {}
                int64_t mine = 0;
                for (uint32_t i = 0; i < 20; ++i) {
                    if (!slots->enter(t + i)) break;
                    ++mine;
                    if (i % 2 == 0 && slots->leave(t + i + 1)) --mine;
                }
                in += mine;
            });
        }
        begin = true;
        const int64_t closed = slots->close();
        for (std::thread& t : readers) t.join();
        ASSERT_EQ(closed, in);
    }
}

}  // namespace
}  // namespace weft::detail
