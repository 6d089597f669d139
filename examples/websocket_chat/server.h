// server.h: the chat as a whole.
#pragma once

#include <functional>

#include <weft/net/tcp.h>

#include "options.h"

namespace websocket_chat {

// Listens, and serves until a signal ends it. Throws std::exception if it cannot start.
void serve(const options& how);

// Serves the connections of listener until wait_for_end returns, and closes it. Returns when all
// connections have ended.
void serve_until(const std::function<void()>& wait_for_end, weft::net::tcp_listener& listener, const limits& allowed);

}  // namespace websocket_chat
