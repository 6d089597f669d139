// place.h: source locations from C, which has no std::source_location.
//
// See: weft/run/spawn.h
#pragma once

#include <weft/detail/source_location.h>

namespace weft::detail {

// The strings must live as long as the program. O(1); the same place always gives the same
// location. Any thread.
[[nodiscard]] source_location place_of(const char* file, int line, const char* function) noexcept;

}  // namespace weft::detail
