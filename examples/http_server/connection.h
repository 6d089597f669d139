// connection.h: one client, from the first request to the last: what each green thread of the server does.
#pragma once

#include <weft/net/tcp.h>

#include "access_log.h"
#include "connections.h"
#include "counters.h"
#include "options.h"
#include "site.h"
#include "transport.h"

namespace http_server {

// What all connections share. All of it lives longer than they do.
struct surroundings {
    const limits& allowed;
    const security& how;
    const site& content;
    connections& all;
    counters& counted;
    access_log& log;
};

// Serves it to its end. Throws what has nothing to do with the client: std::bad_alloc.
void serve_connection(weft::net::tcp_stream accepted, const surroundings& s);

// Says that there are too many, if that can be said in plain text, and closes it.
void turn_away(weft::net::tcp_stream accepted, const surroundings& s);

}  // namespace http_server
