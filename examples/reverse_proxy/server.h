// server.h: the proxy as a whole.
#pragma once

#include <cstddef>

#include "options.h"

namespace reverse_proxy {

// Listens, and serves until a signal ends it. Returns how many connections were cut off at the end.
// Throws std::exception if it cannot start.
[[nodiscard]] std::size_t serve(const options& how);

}  // namespace reverse_proxy
