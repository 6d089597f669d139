// guards.h: whether guard regions work here.
#pragma once

namespace weft::test {

// False without guard regions (Linux before 6.13), and under an emulator that accepts the request
// and does nothing.
[[nodiscard]] bool guard_regions_work();

}  // namespace weft::test
