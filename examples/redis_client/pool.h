// pool.h: connections that many green threads share, one user each at a time.
//
// There are at most so many connections, however many want one; who comes beyond that waits in line. A connection is made when somebody wants one and none is
// free, and kept when he is done. It is dropped if it is broken, or if he has left with replies still to come: because of a deadline, a cancellation or an
// exception (connection.h, I1).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <weft/mutex.h>
#include <weft/semaphore.h>

#include "connection.h"

namespace redis_client {

class pool {
public:
    // A connection for the one who holds this.
    class lease {
    public:
        lease(lease&& other) noexcept
            : from_(std::exchange(other.from_, nullptr)), connection_(std::move(other.connection_)) {}

        lease& operator=(lease&&) = delete;

        ~lease() {
            if (from_ != nullptr) from_->give_back(std::move(connection_));
        }

        connection* operator->() noexcept { return &*connection_; }

    private:
        friend class pool;

        explicit lease(pool& from) noexcept : from_(&from) {}

        pool* from_;
        std::optional<connection> connection_;  // nothing: there is only the place so far
    };

    // The pool lives longer than its leases.
    pool(server at, std::size_t most) : at_(std::move(at)), places_(static_cast<std::ptrdiff_t>(most)) {
        idle_.reserve(most);
    }

    // Waits for a place, and connects if need be. Throws connection_error.
    [[nodiscard]] lease borrow();

    // With a connection of the pool. Throws connection_error.
    reply call(const command& c) { return borrow()->call(c); }

    std::vector<reply> call_all(std::span<const command> commands) { return borrow()->call_all(commands); }

private:
    [[nodiscard]] std::optional<connection> take_idle();
    void give_back(std::optional<connection> c);

    const server at_;
    weft::counting_semaphore<> places_;
    weft::mutex lock_;
    std::vector<connection> idle_;  // guarded by lock_; the one used last is at the end
};

}  // namespace redis_client
