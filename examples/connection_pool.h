// connection_pool.h: connections to a server, shared by many green threads, for the database
// examples. A connection has one user at a time.
//
// - The number of connections is limited; callers beyond the limit wait in line.
// - A connection is made when a caller needs one and none is free. It is kept for the next caller.
// - It is dropped if it is broken, or if its user left with replies still outstanding because of a
//   deadline, a cancellation or an exception.
//
// Connection is a movable type with two functions, neither of which waits. is_clean() tells whether
// another user could use the connection. is_still_there() tells whether the server has not closed
// an unused connection.
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
    // Holds a connection; its destructor returns the connection to the pool.
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
        std::optional<Connection> connection_;  // nothing: the lease holds only a place so far
    };

    // The pool must outlive its leases. connect makes a connection, or throws.
    connection_pool(std::size_t most, std::function<Connection()> connect)
        : connect_(std::move(connect)), places_(static_cast<std::ptrdiff_t>(most)) {
        idle_.reserve(most);  // so that give_back() cannot fail
    }

    // Waits for a place, and connects if necessary. Throws what connect throws.
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
    std::vector<Connection> idle_;  // guarded by lock_; the most recently used is last
};
