// server.h: the proxy as a whole.
#pragma once

#include <cstddef>

#include "options.h"

namespace reverse_proxy {

// Listens, and serves until a signal says to end. Returns how many connections were cut off then. Throws std::exception if it cannot begin.
[[nodiscard]] std::size_t serve(const options& how);

}  // namespace reverse_proxy
