// byte_queue_test.cc: a queue of bytes in one piece of memory, beside one of the standard library.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <weft/detail/byte_queue.h>

namespace weft::detail {
namespace {

TEST(ByteQueue, TakesNoMemoryBeforeTheFirstByte) {
    byte_queue q(SIZE_MAX);  // would not be had
    EXPECT_TRUE(q.empty());
    EXPECT_EQ(q.unread(), "");
}

TEST(ByteQueue, DoesWhatAStringDoes) {
    std::minstd_rand dice(1);
    for (const std::size_t capacity : {0, 1, 7, 64}) {
        byte_queue q(capacity);
        std::string expected;
        for (int i = 0; i < 20'000; ++i) {
            if (dice() % 2 == 0) {
                const std::size_t n = dice() % (expected.size() + 1);
                q.consume(n);
                expected.erase(0, n);
            } else {
                const std::size_t wanted = expected.size() + 1 + dice() % 20;
                const net::mutable_buffer room = q.make_room(wanted);
                ASSERT_GE(room.size(), wanted - expected.size());
                const std::size_t n = dice() % (room.size() + 1);
                const std::string piece(n, static_cast<char>('a' + i % 26));
                std::memcpy(room.data(), piece.data(), n);
                q.append(n);
                expected += piece;
                if (expected.size() > 300) {
                    q.consume(250);
                    expected.erase(0, 250);
                }
            }
            ASSERT_EQ(q.unread(), expected);
            ASSERT_EQ(q.size(), expected.size());
        }
    }
}

TEST(ByteQueue, WhatWasConsumedStaysUntilRoomIsMade) {
    byte_queue q(4);
    std::memcpy(q.make_room(3).data(), "abc", 3);
    q.append(3);
    const std::string_view seen = q.unread();
    q.consume(3);
    EXPECT_TRUE(q.empty());
    EXPECT_EQ(seen, "abc");
}

}  // namespace
}  // namespace weft::detail
