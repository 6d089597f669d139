// client.h: a PostgreSQL client for green threads: a pool of connections, over libpq.
//
//     weft::postgres::client c({.conninfo = "host=localhost dbname=shop"});
//     const int count = c.query("SELECT count(*) FROM orders").value<int>();
//     c.query({"INSERT INTO orders (customer, total) VALUES ($1, $2)", 7, 12.5});
//
// A caller parks until its result has come; no OS thread waits. A deadline or a cancellation around
// the caller (cancel.h) ends the wait at once. A green thread of the client then asks the server to
// stop the statement, and returns the connection to the pool when that is done.
//
// A connection has one user at a time. It is made when a caller needs one and none is free, up to
// connections_max; further callers wait in line. After a restart of the server the client connects
// again by itself. It never sends a statement twice.
//
// See: docs/postgres.md, weft/postgres/copy.h, weft/postgres/subscription.h
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/detail/require.h>
#include <weft/postgres/error.h>
#include <weft/postgres/result.h>
#include <weft/postgres/statement.h>

namespace weft::postgres {

namespace detail {
class pool;
class connection;
class lease;
}  // namespace detail

/// nanoseconds::max() means no limit.
struct client_options {
    /// As for psql: "host=db.example dbname=shop" or a URI. Missing parts come from the environment
    /// (PGHOST …), and the password also from ~/.pgpass.
    std::string conninfo = {};

    std::chrono::nanoseconds connect_time = std::chrono::seconds(5);  ///< name, connection, login
    std::chrono::nanoseconds cancel_time =
        std::chrono::seconds(5);      ///< to stop a statement; then the connection is closed
    std::size_t connections_max = 8;  ///< that the pool has at a time
};

/// A snapshot.
struct client_stats {
    std::size_t connections = 0;  ///< in use or idle
    std::size_t idle = 0;
};

/// How a transaction sees others: see the manual of PostgreSQL.
enum class isolation { read_committed, repeatable_read, serializable };

/// One connection. Movable. One green thread uses it at a time. Its destructor returns the
/// connection to the pool, which first undoes what it has left: an open transaction (ROLLBACK), and
/// settings, temporary tables, locks (DISCARD ALL).
class session {
public:
    session(session&&) noexcept;
    session& operator=(session&&) noexcept;
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session();

    /// As in client.
    result query(const statement& s);
    result each_row(const statement& s, const std::function<void(const row&)>& f);
    std::vector<result> query_all(const std::vector<statement>& statements);

private:
    friend class client;
    friend class transaction;
    friend class copy_in;
    friend class copy_out;

    explicit session(std::unique_ptr<detail::lease> l) noexcept;

    [[nodiscard]] detail::connection& connection() const;

    std::unique_ptr<detail::lease> lease_;
};

/// A transaction. Movable. One green thread uses it at a time. If it is destroyed before commit(),
/// nothing of it remains: the pool rolls it back before the connection is used again.
class transaction {
public:
    transaction(transaction&&) noexcept = default;
    transaction& operator=(transaction&&) noexcept = default;
    ~transaction() = default;

    /// As in client. After a server_error the transaction can only be rolled back.
    result query(const statement& s) { return in_.query(s); }

    result each_row(const statement& s, const std::function<void(const row&)>& f) { return in_.each_row(s, f); }

    std::vector<result> query_all(const std::vector<statement>& statements) { return in_.query_all(statements); }

    /// Commits. Throws server_error if the server refuses: nothing remains then. After
    /// errc::connection_lost, cancelled and timed_out it is unknown whether it is committed. After
    /// an error in the transaction it throws server_error with the code 25P02.
    void commit();

    /// Undoes it now, and not when the pool comes to it.
    void rollback();

    /// The connection of the transaction, for COPY.
    [[nodiscard]] session& on() noexcept { return in_; }

private:
    friend class client;

    explicit transaction(session in) noexcept : in_(std::move(in)) {}

    session in_;
};

/// A client. Any green or plain thread may use it, and any number at once. Copies share the pool.
/// Destroy it before its runtime ends.
class client {
public:
    /// Does not connect. Throws std::invalid_argument for options that cannot be used.
    explicit client(client_options how = {});

    /// Executes a statement, and waits for the whole result. Throws server_error;
    /// std::system_error with an errc; std::invalid_argument for a statement that cannot be sent;
    /// weft::cancelled, weft::timed_out.
    result query(const statement& s);

    /// Like query(), for results that are larger than memory: calls f for each row as it arrives.
    /// Returns the end of the result, which has no rows. f must not use this connection. If f
    /// throws, the statement is stopped. A slow f makes the server wait.
    result each_row(const statement& s, const std::function<void(const row&)>& f);

    /// A pipeline: sends all statements without waiting for results in between. They form one
    /// transaction, unless they say otherwise: either all are executed, or the error of the first
    /// that fails is thrown. Throws as query().
    std::vector<result> query_all(const std::vector<statement>& statements);

    /// Begins a transaction on a connection of its own.
    [[nodiscard]] transaction begin(isolation level = isolation::read_committed);

    /// Calls f(transaction&) in a transaction and commits it. Repeats it, with pauses, if the
    /// server aborts it because of a conflict, up to attempts_max times. f must therefore have no
    /// other effect. Returns what f returns. If f throws, nothing remains. Throws what f throws,
    /// and as transaction::commit().
    template <typename F>
    std::invoke_result_t<F&, transaction&> in_transaction(isolation level, F f, unsigned attempts_max = 10) {
        for (unsigned failed = 0;; ++failed) {
            transaction t = begin(level);
            try {
                if constexpr (std::is_void_v<std::invoke_result_t<F&, transaction&>>) {
                    f(t);
                    t.commit();
                    return;
                } else {
                    auto value = f(t);
                    t.commit();
                    return value;
                }
            } catch (const server_error& e) {
                if (!e.is_conflict() || failed + 1 >= attempts_max) throw;
            }
            t.rollback();
            pause_after_conflict(failed);
        }
    }

    /// Takes a connection of the pool. Waits if all are in use. Throws as query().
    [[nodiscard]] session open();

    [[nodiscard]] const client_options& options() const noexcept;
    [[nodiscard]] client_stats stats() const;

private:
    static void pause_after_conflict(unsigned failed);

    std::shared_ptr<detail::pool> pool_;
};

}  // namespace weft::postgres
