// server.h: the proxy as a whole.
#pragma once

#include <cstddef>
#include <functional>

#include <weft/net/tcp.h>

#include "backends.h"
#include "options.h"

namespace reverse_proxy {

// Listens, and serves until a signal ends it. Returns how many connections were cut off at the end.
// Throws std::exception if it cannot start.
[[nodiscard]] std::size_t serve(const options& how);

// Serves the connections of listener until wait_for_end returns, and closes it. Returns when all
// connections have ended: how many were cut off.
[[nodiscard]] std::size_t serve_until(const std::function<void()>& wait_for_end,
                                      weft::net::tcp_listener& listener,
                                      backends& all,
                                      const options& how);

}  // namespace reverse_proxy
