// io_ring_test.cc: requests are worked off, in any order and number, and can be taken back.
#include "os/io_ring.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft::detail::os {
namespace {

class IoRing : public ::testing::Test {
protected:
    void SetUp() override {
        if (const int error = ring_.open()) GTEST_SKIP() << "there is no io_uring here: " << error;
        if (ring_.submit(0) < 0) GTEST_SKIP() << "io_uring_enter is refused";
        file_ = std::tmpfile();
        ASSERT_NE(file_, nullptr);
        std::string text;
        for (int i = 0; i < 1000; ++i) text += std::string(10, static_cast<char>('a' + i % 26));
        ASSERT_EQ(::write(fileno(file_), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }

    void TearDown() override {
        if (file_ != nullptr) std::fclose(file_);
    }

    [[nodiscard]] int file() const { return fileno(file_); }

    ring_completion await_one() {
        ring_completion c{};
        while (!ring_.pop(c)) ring_.await(1);
        return c;
    }

    io_ring ring_;
    std::FILE* file_ = nullptr;
};

TEST_F(IoRing, ReadsIntoTheGivenBuffers) {
    char first[10];
    char second[7];
    const iovec both[] = {{first, sizeof(first)}, {second, sizeof(second)}};
    ASSERT_TRUE(ring_.push({file(), both, 1, 10, 7}));
    ASSERT_EQ(ring_.submit(1), 1);
    ring_completion c = await_one();
    EXPECT_EQ(c.tag, 7U);
    EXPECT_EQ(c.result, 10);
    EXPECT_EQ(std::string(first, 10), "bbbbbbbbbb");
    ASSERT_TRUE(ring_.push({file(), both, 2, 5, 8}));
    ASSERT_EQ(ring_.submit(1), 1);
    c = await_one();
    EXPECT_EQ(c.result, 17);
    EXPECT_EQ(std::string(first, 10).append(second, 7), "aaaaabbbbbbbbbbcc");
    EXPECT_FALSE(ring_.pop(c));
}

TEST_F(IoRing, ReportsTheErrorOfARead) {
    char b[1];
    const iovec one{b, 1};
    ASSERT_TRUE(ring_.push({-1, &one, 1, 0, 1}));
    ASSERT_EQ(ring_.submit(1), 1);
    EXPECT_EQ(await_one().result, -EBADF);
}

TEST_F(IoRing, WrapsAroundManyTimes) {
    std::vector<char> into(io_ring::entries);
    std::vector<iovec> pieces(io_ring::entries);
    for (int round = 0; round < 20; ++round) {
        for (uint32_t i = 0; i < io_ring::entries; ++i) {
            pieces[i] = {&into[i], 1};
            ASSERT_TRUE(ring_.push({file(), &pieces[i], 1, i * 10, i}));
        }
        EXPECT_FALSE(ring_.push({file(), &pieces[0], 1, 0, 0})) << "full";
        ASSERT_EQ(ring_.submit(io_ring::entries), static_cast<int>(io_ring::entries));
        std::vector<int> seen(io_ring::entries);
        for (uint32_t i = 0; i < io_ring::entries; ++i) {
            const ring_completion c = await_one();
            EXPECT_EQ(c.result, 1);
            ++seen[c.tag];
        }
        EXPECT_EQ(seen, std::vector<int>(io_ring::entries, 1));
        for (uint32_t i = 0; i < io_ring::entries; ++i) EXPECT_EQ(into[i], static_cast<char>('a' + i % 26));
    }
}

TEST_F(IoRing, AnEntryNotYetSubmittedCanBeTakenBack) {
    char b[2];
    const iovec one{b, 1};
    const iovec two{b + 1, 1};
    uint64_t tag = 0;
    EXPECT_FALSE(ring_.take_back(tag));
    ASSERT_TRUE(ring_.push({file(), &one, 1, 0, 1}));
    ASSERT_TRUE(ring_.push({file(), &two, 1, 0, 2}));
    EXPECT_TRUE(ring_.take_back(tag));
    EXPECT_EQ(tag, 2U);
    ASSERT_EQ(ring_.submit(1), 1);
    EXPECT_FALSE(ring_.take_back(tag));
    EXPECT_EQ(await_one().tag, 1U);
}

}  // namespace
}  // namespace weft::detail::os
