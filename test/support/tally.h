// tally.h: counts how often each of n numbered messages was seen.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace weft::test {

class tally {
public:
    explicit tally(std::size_t messages) : seen_(messages) {}

    [[nodiscard]] std::size_t size() const noexcept { return seen_.size(); }

    // Counts message number. Any thread.
    void mark(std::size_t number) noexcept {
        if (number < seen_.size()) {
            seen_[number].fetch_add(1, std::memory_order_relaxed);
        } else {
            strays_.fetch_add(1, std::memory_order_relaxed);
        }
    }

    [[nodiscard]] unsigned count(std::size_t number) const noexcept {
        return seen_[number].load(std::memory_order_relaxed);
    }

    // Whether every message was seen exactly once, and no other.
    [[nodiscard]] ::testing::AssertionResult exactly_once() const {
        return same_where([](std::size_t) { return 1U; });
    }

    // Whether this and other agree on every message: all that was sent was received.
    [[nodiscard]] ::testing::AssertionResult same_as(const tally& other) const {
        if (other.size() != size()) return ::testing::AssertionFailure() << "tallies of different size";
        return same_where([&](std::size_t i) { return other.count(i); });
    }

private:
    template <typename Expected>
    [[nodiscard]] ::testing::AssertionResult same_where(Expected expected) const {
        if (const std::size_t strays = strays_.load(); strays != 0) {
            return ::testing::AssertionFailure() << strays << " messages that nobody sent";
        }
        std::size_t wrong = 0;
        std::size_t first = 0;
        for (std::size_t i = seen_.size(); i-- > 0;) {
            if (count(i) == expected(i)) continue;
            ++wrong;
            first = i;
        }
        if (wrong == 0) return ::testing::AssertionSuccess();
        return ::testing::AssertionFailure()
               << wrong << " of " << seen_.size() << " messages miscounted; number " << first << " was seen "
               << count(first) << " times, not " << expected(first);
    }

    std::vector<std::atomic<unsigned>> seen_;
    std::atomic<std::size_t> strays_{0};
};

}  // namespace weft::test
