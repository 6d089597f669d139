// place.h: source locations from C, which has no std::source_location.
//
// See: weft/run/spawn.h
#pragma once

#include <source_location>

namespace weft::detail {

// line of function in file, which live as long as the program. O(1); the same place always gives the same location. Any thread.
[[nodiscard]] std::source_location place_of(const char* file, int line, const char* function) noexcept;

}  // namespace weft::detail
