// server.h: the chat as a whole.
#pragma once

#include "options.h"

namespace websocket_chat {

// Listens, and serves until a signal ends it. Throws std::exception if it cannot start.
void serve(const options& how);

}  // namespace websocket_chat
