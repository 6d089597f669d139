// low_water.h: the minimum of a quantity since a point in time.
//
// A cache reports its size each time it shrinks. The minimum is the number of items that it did not
// need: docs/stacks.md#memory-that-goes-back.
//
// Threads: the holder of the lock of the measured object.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::detail {

class low_water {
public:
    void restart(uint64_t value) noexcept { lowest_ = value; }

    void fell_to(uint64_t value) noexcept { lowest_ = std::min(lowest_, value); }

    // 0 before the first restart().
    [[nodiscard]] uint64_t lowest() const noexcept { return lowest_; }

private:
    uint64_t lowest_ = 0;
};

}  // namespace weft::detail
