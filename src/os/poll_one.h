// poll_one.h: poll() for one descriptor, with nanoseconds: part of the porting contract.
//
// Threads: any thread.
#pragma once

#include <cstdint>

struct pollfd;

namespace weft::detail::os {

// Returns poll()'s result, and sets errno.
[[nodiscard]] int poll_one(pollfd& one, int64_t timeout_ns) noexcept;

}  // namespace weft::detail::os
