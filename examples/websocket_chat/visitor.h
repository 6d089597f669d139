// visitor.h: one connection, from the first byte to the last: a question by HTTP, and, if it was the right one, a place in a room.
#pragma once

#include <weft/net/tcp.h>

#include "options.h"
#include "rooms.h"
#include "visitors.h"

namespace websocket_chat {

// What all share. All of it lives longer than they do.
struct surroundings {
    const limits& allowed;
    rooms& all_rooms;
    visitors& all;
};

void serve(weft::net::tcp_stream accepted, const surroundings& s);

// Says that there are too many.
void turn_away(weft::net::tcp_stream accepted);

}  // namespace websocket_chat
