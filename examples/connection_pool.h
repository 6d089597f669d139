// connection_pool.h: connections to a server that many green threads share, one user each at a time, for the examples that talk to databases.
//
// There are at most so many connections, however many want one; who comes beyond that waits in line. A connection is made when somebody wants one and none
// is free, and kept when he is done. It is dropped if it is broken, or if he has left with replies still to come: because of a deadline, a cancellation or
// an exception.
//
// Connection can be moved, and knows two things of itself: is_clean(), whether it could serve anybody else when its user has left it; and
// is_still_there(), whether the server has not closed it while it lay unused. Neither waits.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <weft/mutex.h>
#include <weft/semaphore.h>

template <typename Connection>
class connection_pool {
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

        Connection& operator*() noexcept { return *connection_; }

        Connection* operator->() noexcept { return &*connection_; }

    private:
        friend class connection_pool;

        explicit lease(connection_pool& from) noexcept : from_(&from) {}

        connection_pool* from_;
        std::optional<Connection> connection_;  // nothing: there is only the place so far
    };

    // The pool lives longer than its leases. connect: makes one, or throws.
    connection_pool(std::size_t most, std::function<Connection()> connect)
        : connect_(std::move(connect)), places_(static_cast<std::ptrdiff_t>(most)) {
        idle_.reserve(most);  // so that give_back() cannot fail
    }

    // Waits for a place, and connects if need be. Throws what connect throws.
    [[nodiscard]] lease borrow() {
        places_.acquire();
        lease mine(*this);
        while (std::optional<Connection> c = take_idle()) {
            if (c->is_still_there()) {
                mine.connection_.emplace(std::move(*c));
                return mine;
            }
        }
        mine.connection_.emplace(connect_());
        return mine;
    }

private:
    [[nodiscard]] std::optional<Connection> take_idle() {
        const std::lock_guard<weft::mutex> locked(lock_);
        if (idle_.empty()) return std::nullopt;
        std::optional<Connection> c(std::move(idle_.back()));
        idle_.pop_back();
        return c;
    }

    void give_back(std::optional<Connection> c) {
        if (c && c->is_clean()) {
            const std::lock_guard<weft::mutex> locked(lock_);
            idle_.push_back(std::move(*c));
        }
        c.reset();
        places_.release();
    }

    const std::function<Connection()> connect_;
    weft::counting_semaphore<> places_;
    weft::mutex lock_;
    std::vector<Connection> idle_;  // guarded by lock_; the one used last is at the end
};
