// connection.h: serves one client from its first byte to its last. Each connection of the proxy is
// a green thread that runs this.
#pragma once

#include <weft/net/tcp.h>

#include "backends.h"
#include "clients.h"
#include "options.h"

namespace reverse_proxy {

// What all connections share. All of it must outlive them.
struct surroundings {
    const limits& allowed;
    backends& all;
    clients& known;
};

// Forwards requests, one after the other.
void serve_http(weft::net::tcp_stream accepted, const surroundings& s);

// Forwards all bytes, to one back end.
void serve_tcp(weft::net::tcp_stream accepted, const surroundings& s);

// Answers that there are too many connections.
void turn_away(weft::net::tcp_stream accepted);

}  // namespace reverse_proxy
