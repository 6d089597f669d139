// visitor.h: serves one connection: an HTTP request, and, if it asks for a room, a WebSocket
// conversation.
#pragma once

#include <weft/net/tcp.h>

#include "options.h"
#include "rooms.h"
#include "visitors.h"

namespace websocket_chat {

// What all connections share. All of it must outlive them.
struct surroundings {
    const limits& allowed;
    rooms& all_rooms;
    visitors& all;
};

void serve(weft::net::tcp_stream accepted, const surroundings& s);

// Answers that there are too many connections.
void turn_away(weft::net::tcp_stream accepted);

}  // namespace websocket_chat
