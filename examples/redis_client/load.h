// load.h: a load test: many green threads write and read at the same time, and check what they
// read.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "pool.h"

namespace redis_client {

struct load_options {
    std::size_t clients = 100;
    std::size_t rounds = 100;            // for each client
    std::size_t depth = 10;              // commands of a round that are sent at once
    std::chrono::milliseconds pause{0};  // between two rounds of a client
    std::chrono::milliseconds call_time{5'000};
};

struct load_result {
    uint64_t rounds = 0;  // with correct answers
    uint64_t late = 0;    // not within the time
    uint64_t failed = 0;  // no connection, or an error of the server
    uint64_t wrong = 0;   // for example the answer to another client; must be 0
    std::string first_failure;
};

// Returns when all clients have finished their rounds.
[[nodiscard]] load_result put_load_on(pool& servers, const load_options& how);

}  // namespace redis_client
