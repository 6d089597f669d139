// event_ring_test.cc: what a reader gets of a ring, and what it has missed. The order of events
// between threads is for test/model/event_ring_model.cc.
#include "events/event_ring.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/scale.h"

namespace weft::detail {
namespace {

constexpr uint64_t capacity = 8;

class EventRing : public ::testing::Test {
protected:
    void add(uint64_t count) {
        for (; count != 0; --count, ++added_) ring_.add(added_, 2 * added_, 3 * added_);
    }

    // The numbers of the events that a reader gets.
    std::vector<uint64_t> read(uint64_t& from, std::size_t most = 100) {
        std::vector<event> got(most);
        got.resize(ring_.read(from, got.data(), most));
        std::vector<uint64_t> numbers;
        for (const event& e : got) {
            EXPECT_EQ(e.what, 2 * e.ticks);
            EXPECT_EQ(e.argument, 3 * e.ticks);
            numbers.push_back(e.ticks);
        }
        return numbers;
    }

    event_ring& ring() { return ring_; }

private:
    std::array<event_ring::place, capacity> places_{};
    event_ring ring_{places_.data(), capacity};
    uint64_t added_ = 0;
};

using numbers = std::vector<uint64_t>;

TEST_F(EventRing, IsEmptyAtFirst) {
    uint64_t from = 0;
    EXPECT_EQ(read(from), numbers{});
    EXPECT_EQ(from, 0U);
}

TEST_F(EventRing, GivesEachEventOnce) {
    uint64_t from = 0;
    add(3);
    EXPECT_EQ(read(from), (numbers{0, 1, 2}));
    EXPECT_EQ(from, 3U);
    EXPECT_EQ(read(from), numbers{});
    add(2);
    EXPECT_EQ(read(from), (numbers{3, 4}));
}

TEST_F(EventRing, GivesNoMoreThanWanted) {
    uint64_t from = 0;
    add(5);
    EXPECT_EQ(read(from, 2), (numbers{0, 1}));
    EXPECT_EQ(read(from, 2), (numbers{2, 3}));
    EXPECT_EQ(read(from, 2), (numbers{4}));
    EXPECT_EQ(read(from, 0), numbers{});
}

TEST_F(EventRing, KeepsTheLastButOneThatMayBeOverwritten) {
    uint64_t from = 0;
    add(20);
    EXPECT_EQ(read(from), (numbers{13, 14, 15, 16, 17, 18, 19}));
    EXPECT_EQ(from, 20U) << "13 events are lost: from - 7 - 0";
    EXPECT_EQ(ring().head(), 20U);
}

TEST_F(EventRing, ALateReaderGoesOnWithTheOldest) {
    uint64_t from = 2;
    add(12);
    EXPECT_EQ(read(from, 3), (numbers{5, 6})) << "of the three that it copied, one may have been overwritten";
    EXPECT_EQ(from, 7U);
}

TEST_F(EventRing, IsReadWhileItIsWritten) {
    std::atomic<bool> over{false};
    std::thread writer([&] {
        const int rounds = test::scaled(200'000);
        for (int i = 0; i < rounds; ++i) add(1);
        over = true;
    });
    uint64_t from = 0;
    uint64_t next = 0;
    while (!over) {
        for (const uint64_t n : read(from, 4)) {
            ASSERT_GE(n, next);
            next = n + 1;
        }
    }
    writer.join();
}

}  // namespace
}  // namespace weft::detail
