// guards.h: whether this system's guard regions guard.
#pragma once

namespace weft::test {

// False where there are none (Linux before 6.13), and under an emulator that accepts the request and does nothing.
[[nodiscard]] bool guard_regions_work();

}  // namespace weft::test
