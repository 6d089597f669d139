// guards.h: whether guard regions work here.
#pragma once

namespace weft::test {

// False without guard regions (Linux before 6.13), and under an emulator that accepts the request
// and does nothing.
[[nodiscard]] bool guard_regions_work();

// Whether an overflow of a stack is noticed at once: by a guard region, or as on Windows, where no
// stack is without a guard.
[[nodiscard]] bool guards_work();

#if defined(_WIN32)
inline constexpr bool all_stacks_are_guarded = true;
#else
inline constexpr bool all_stacks_are_guarded = false;
#endif

}  // namespace weft::test
