// pool.h: connections to one Redis server that many green threads share.
//
// - The number of connections is limited; callers beyond the limit wait in line.
// - A connection is made when a caller needs one and none is free, and is kept for the next caller.
// - It is closed if it is broken, or if its user left with replies still outstanding because of a
//   deadline, a cancellation or an exception (connection::is_reusable()).
//
// Threads: any, any number at once.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <weft/mutex.h>
#include <weft/redis/client.h>
#include <weft/semaphore.h>

#include "redis/connection.h"

namespace weft::redis::detail {

class pool {
public:
    // Throws std::invalid_argument for options that cannot be used.
    explicit pool(client_options how);

    // Waits for a place, and connects if no connection is idle. Throws as connection's constructor.
    [[nodiscard]] std::unique_ptr<connection> borrow();

    // Returns what borrow() returned: keeps or closes it.
    void give_back(std::unique_ptr<connection> c) noexcept;

    [[nodiscard]] const client_options& how() const noexcept { return how_; }

    [[nodiscard]] client_stats stats() const;

private:
    [[nodiscard]] std::unique_ptr<connection> take_idle();

    const client_options how_;
    weft::counting_semaphore<> places_;
    mutable weft::mutex lock_;
    std::vector<std::unique_ptr<connection>> idle_;  // guarded by lock_; the most recently used is last
    std::size_t used_ = 0;                           // guarded by lock_
};

// A borrowed connection, for one call.
class borrowed {
public:
    explicit borrowed(pool& from) : from_(from), connection_(from.borrow()) {}

    borrowed(const borrowed&) = delete;
    borrowed& operator=(const borrowed&) = delete;

    ~borrowed() { from_.give_back(std::move(connection_)); }

    connection* operator->() const noexcept { return connection_.get(); }

private:
    pool& from_;
    std::unique_ptr<connection> connection_;
};

}  // namespace weft::redis::detail
