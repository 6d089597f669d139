// connection.h: one client, from its first byte to its last: what each green thread of the proxy does.
#pragma once

#include <weft/net/tcp.h>

#include "backends.h"
#include "clients.h"
#include "options.h"

namespace reverse_proxy {

// What all connections share. All of it lives longer than they do.
struct surroundings {
    const limits& allowed;
    backends& all;
    clients& known;
};

// Passes requests on, one after the other.
void serve_http(weft::net::tcp_stream accepted, const surroundings& s);

// Passes everything on, to one back end.
void serve_tcp(weft::net::tcp_stream accepted, const surroundings& s);

// Says that there are too many.
void turn_away(weft::net::tcp_stream accepted);

}  // namespace reverse_proxy
