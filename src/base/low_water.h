// low_water.h: the smallest value that a quantity had since a point in time.
//
// A cache reports its size each time it shrinks. The minimum over an interval is the number of items that the cache did not need during all of
// it. Trimming uses that as the surplus: a load that oscillates drains the cache once in each period, so its minimum is near zero.
//
// Who: the holder of the lock of what is measured.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::detail {

class low_water {
public:
    // Begins an interval in which the quantity is now value.
    void restart(uint64_t value) noexcept { lowest_ = value; }

    // The quantity has fallen to value.
    void fell_to(uint64_t value) noexcept { lowest_ = std::min(lowest_, value); }

    // The minimum since restart(); 0 before the first one.
    [[nodiscard]] uint64_t lowest() const noexcept { return lowest_; }

private:
    uint64_t lowest_ = 0;
};

}  // namespace weft::detail
