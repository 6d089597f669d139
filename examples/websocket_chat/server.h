// server.h: the chat as a whole.
#pragma once

#include "options.h"

namespace websocket_chat {

// Listens, and serves until a signal says to end. Throws std::exception if it cannot begin.
void serve(const options& how);

}  // namespace websocket_chat
