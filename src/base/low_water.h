// low_water.h: the minimum of a quantity since a point in time.
//
// A cache reports its size each time it shrinks. The minimum over an interval is the number of
// items that the cache did not need during the interval. Trimming uses it as the surplus: an
// oscillating load drains the cache once per period, so its minimum is near zero.
//
// Threads: the holder of the lock of the measured object.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::detail {

class low_water {
public:
    // Begins an interval; the quantity is currently value.
    void restart(uint64_t value) noexcept { lowest_ = value; }

    // The quantity has fallen to value.
    void fell_to(uint64_t value) noexcept { lowest_ = std::min(lowest_, value); }

    // The minimum since restart(); 0 before the first one.
    [[nodiscard]] uint64_t lowest() const noexcept { return lowest_; }

private:
    uint64_t lowest_ = 0;
};

}  // namespace weft::detail
