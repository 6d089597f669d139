// server.h: from the first connection to the last.
#pragma once

#include "options.h"

namespace http_server {

// Serves until SIGINT or SIGTERM, then lets requests in flight be answered. Returns how many connections had to be cut off because they took
// longer than the grace. Throws a std::exception with a message for the user where it cannot serve.
[[nodiscard]] std::size_t serve(const options& how);

}  // namespace http_server
