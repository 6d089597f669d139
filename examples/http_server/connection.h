// connection.h: serves one client from its first request to its last. Each connection of the server
// is a green thread that runs this.
#pragma once

#include <weft/net/tcp.h>

#include "access_log.h"
#include "connections.h"
#include "counters.h"
#include "options.h"
#include "site.h"
#include "transport.h"

namespace http_server {

// What all connections share. All of it must outlive them.
struct surroundings {
    const limits& allowed;
    const security& how;
    const site& content;
    connections& all;
    counters& counted;
    access_log& log;
};

// Serves the client until the connection ends. Throws only errors that the client did not cause:
// std::bad_alloc.
void serve_connection(weft::net::tcp_stream accepted, const surroundings& s);

// Answers that there are too many connections, if the connection is plain text, and closes it.
void turn_away(weft::net::tcp_stream accepted, const surroundings& s);

}  // namespace http_server
