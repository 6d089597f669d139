// load.h: many green threads that write and read at the same time, and check what they read.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "pool.h"

namespace redis_client {

struct load_options {
    std::size_t clients = 100;
    std::size_t rounds = 100;            // of each client
    std::size_t depth = 10;              // commands of a round that are sent at once
    std::chrono::milliseconds pause{0};  // between two rounds of a client
    std::chrono::milliseconds call_time{5'000};
};

struct load_result {
    uint64_t rounds = 0;  // that were answered as they should
    uint64_t late = 0;    // not within the time
    uint64_t failed = 0;  // no connection, or an error of the server's
    uint64_t wrong = 0;   // another one's answer, for one: there must be none
    std::string first_failure;
};

// Returns when all clients have done their rounds.
[[nodiscard]] load_result put_load_on(pool& servers, const load_options& how);

}  // namespace redis_client
