// tracked.h: a move-only value that counts its live instances.
#pragma once

#include <atomic>
#include <utility>

namespace weft::test {

// Counts live objects. A test compares the count before and after: a difference is a value never
// destroyed, or destroyed twice. Moved-from objects hold nothing.
class tracked {
public:
    static constexpr int nothing = -1;

    explicit tracked(int v) noexcept : value(v) { ++alive_; }

    tracked(tracked&& other) noexcept : value(std::exchange(other.value, nothing)) { ++alive_; }

    tracked& operator=(tracked&& other) noexcept {
        value = std::exchange(other.value, nothing);
        return *this;
    }

    ~tracked() { --alive_; }

    [[nodiscard]] static long alive() noexcept { return alive_.load(); }

    int value;

private:
    static inline std::atomic<long> alive_{0};
};

}  // namespace weft::test
