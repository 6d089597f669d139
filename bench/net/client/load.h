// load.h: sends requests on many connections from one thread, and measures the time until their
// echoes.
//
// Closed loop: each connection sends a request once it has the previous echo. This measures
// capacity, but flatters slow servers: a stop of 10 ms delays one request per connection, and the
// others are not even sent.
//
// Open loop: requests are sent at times of their own, with random gaps around the mean, regardless
// of earlier ones, on each connection in turn. Latency counts from the due time, so a server that
// stops is late for all requests due in that time.
#pragma once

#include <cstdint>
#include <vector>

#include "connection.h"
#include "histogram.h"
#include "options.h"
#include "server_usage.h"

namespace bench::net {

struct load_result {
    int64_t answered = 0;  // All echoes.
    int64_t requests = 0;  // Echoes received during the measurement.
    int64_t wall_ns = 0;
    histogram latency;    // Of requests due during the measurement.
    histogram sent_late;  // Delay between due and sent: the client's own fault.
    server_usage before;
    server_usage after;
};

// Sends requests for warmup_ms, then ms, and waits for the pending echoes.
[[nodiscard]] load_result run_load(const options& o, std::vector<connection>& connections);

}  // namespace bench::net
