// pool.h: connections to one PostgreSQL server that many green threads share.
//
// - The number of connections is limited; callers beyond the limit wait in line.
// - A connection is made when a caller needs one and none is free, and is kept for the next caller.
// - A connection that comes back with a statement in progress, in a transaction or with settings is
//   made clean by a green thread of the pool (connection::clean_up()). Its user does not wait for
//   that. It keeps its place until then, so there are never more connections than allowed.
// - A broken connection is closed.
//
// Threads: any, any number at once.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <weft/mutex.h>
#include <weft/postgres/client.h>
#include <weft/semaphore.h>
#include <weft/wait_group.h>

#include "postgres/connection.h"

namespace weft::postgres::detail {

class pool {
public:
    // Throws std::invalid_argument for options that cannot be used.
    explicit pool(client_options how);

    // Waits for the green threads of the pool.
    ~pool();

    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

    // Waits for a place, and connects if no connection is idle. Throws as connection's constructor.
    [[nodiscard]] std::unique_ptr<connection> borrow();

    // Returns what borrow() returned.
    void give_back(std::unique_ptr<connection> c) noexcept;

    [[nodiscard]] const client_options& how() const noexcept { return how_; }

    [[nodiscard]] client_stats stats() const;

private:
    [[nodiscard]] std::unique_ptr<connection> take_idle();
    void keep_or_close(std::unique_ptr<connection> c) noexcept;

    const client_options how_;
    weft::counting_semaphore<> places_;
    mutable weft::mutex lock_;
    std::vector<std::unique_ptr<connection>> idle_;  // guarded by lock_; the most recently used is last
    std::size_t used_ = 0;                           // guarded by lock_
    weft::wait_group cleaning_;
};

// A borrowed connection.
class lease {
public:
    explicit lease(std::shared_ptr<pool> from) : from_(std::move(from)), connection_(from_->borrow()) {}

    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;

    ~lease() { from_->give_back(std::move(connection_)); }

    [[nodiscard]] connection& get() const noexcept { return *connection_; }

private:
    std::shared_ptr<pool> from_;
    std::unique_ptr<connection> connection_;
};

}  // namespace weft::postgres::detail
