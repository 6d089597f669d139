// worker.h: takes chunks from the broker, counts them, and stores their results.
//
// For each chunk: count, store the result, acknowledge; in this order. A worker that is killed
// before the acknowledgement leaves the chunk to another one, after ack_wait. So a chunk may be
// counted twice, and its result stored twice; it is merged once.
//
// A chunk on which every worker dies must not be delivered for ever. The server could stop by
// itself (max_deliver), but then it does so silently: the message stays, and no program learns of
// it except from an advisory, which may be lost. So the worker looks at the number of deliveries:
// above deliveries_max it does not count the chunk, and stores a result that says so.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "broker.h"

namespace cluster_wordcount {

struct worker_options {
    std::size_t threads = 1;         // chunks that are counted at once
    std::size_t deliveries_max = 5;  // of one chunk
    // To try what happens: the worker kills itself over text with this word; never if it is empty.
    std::string crash_on;
    // To try what happens: the worker waits after it has counted a chunk.
    std::chrono::milliseconds pause = std::chrono::milliseconds(0);
};

struct worker_report {
    std::uint64_t counted = 0;
    std::uint64_t delivered_again = 0;  // of these, how many were not delivered for the first time
    std::uint64_t given_up = 0;
};

// Waits for the streams, and works until they are removed. Throws broker_error, weft::cancelled.
worker_report work(broker& with, const worker_options& how);

}  // namespace cluster_wordcount
