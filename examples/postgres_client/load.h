// load.h: a bank: many green threads move money between accounts at the same time. The sum of all
// balances stays the same, however many of them fail.
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
    std::size_t rounds = 20;  // for each client
    std::size_t accounts = 50;
    std::chrono::milliseconds call_time{5'000};
};

struct load_result {
    uint64_t done = 0;
    uint64_t repeated = 0;  // retries after a conflict with another transaction
    uint64_t late = 0;      // not within the time
    uint64_t failed = 0;    // no connection, or an error of the server
    std::string first_failure;
    bool sum_is_right = false;
};

// Creates the accounts in the table bank_accounts, which it drops first if it exists. Returns when
// all clients have finished their rounds. Throws what a connection throws; failures of the clients
// are counted instead.
[[nodiscard]] load_result put_load_on(pool& servers, const load_options& how);

}  // namespace postgres_client
