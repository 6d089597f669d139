// load.h: a bank: many green threads that move money between accounts at the same time. However many of them fail, the sum stays the same.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "../connection_pool.h"
#include "connection.h"

namespace postgres_client {

using pool = connection_pool<connection>;

struct load_options {
    std::size_t clients = 50;
    std::size_t rounds = 20;  // of each client
    std::size_t accounts = 50;
    std::chrono::milliseconds call_time{5'000};
};

struct load_result {
    uint64_t done = 0;
    uint64_t repeated = 0;  // tries in vain of those that were done: another one was in the way
    uint64_t late = 0;      // not within the time
    uint64_t failed = 0;    // no connection, or an error of the server's
    std::string first_failure;
    bool sum_is_right = false;
};

// Makes the accounts anew, in the table bank_accounts, and returns when all clients have done their rounds. Throws what a connection throws, but for what
// happens to the clients.
[[nodiscard]] load_result put_load_on(pool& servers, const load_options& how);

}  // namespace postgres_client
