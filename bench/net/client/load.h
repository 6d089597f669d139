// load.h: sends requests on many connections from one thread, and takes the time until their echoes.
//
// Closed loop: each connection sends its next request when it has the echo of the one before. It measures how much the server can do. It
// flatters the slow: a server that stops for 10 ms delays one request per connection, and the others are not even sent.
//
// Open loop: requests have times of their own, random gaps around the mean, and are sent then, whatever became of those before; the
// connections take turns. An echo's time is counted from when its request was due, so whoever stops is late for all that fall due meanwhile.
#pragma once

#include <cstdint>
#include <vector>

#include "connection.h"
#include "histogram.h"
#include "options.h"
#include "server_usage.h"

namespace bench::net {

struct load_result {
    int64_t answered = 0;  // echoes, in all
    int64_t requests = 0;  // those that came while it was measured
    int64_t wall_ns = 0;
    histogram latency;    // of requests that were due while it was measured
    histogram sent_late;  // how long after they were due those were sent: the client's own fault
    server_usage before;
    server_usage after;
};

// Sends requests for warmup_ms and ms, and waits for the echoes that are under way then.
[[nodiscard]] load_result run_load(const options& o, std::vector<connection>& connections);

}  // namespace bench::net
