// server.h: the server as a whole.
#pragma once

#include "options.h"

namespace http_server {

// Serves until SIGINT or SIGTERM, then waits until the requests in flight are answered. Returns how
// many connections were cut off after the grace period. Throws a std::exception, with a message for
// the user, if it cannot serve.
[[nodiscard]] std::size_t serve(const options& how);

}  // namespace http_server
