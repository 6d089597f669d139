// client.h: a Redis client for green threads: a pool of connections.
//
//     weft::redis::client c;                                   // 127.0.0.1:6379
//     c.call({"SET", "greeting", "hello"});
//     auto text = c.call<std::optional<std::string>>({"GET", "greeting"});
//
// A caller parks until its reply has come; no OS thread waits. A deadline or a cancellation around
// the caller (cancel.h) ends the wait at once. The connection of that command is then closed, so a
// late reply cannot reach another caller.
//
// A connection has one user at a time. It is made when a caller needs one and none is free, up to
// connections_max; further callers wait in line. After a restart of the server the client connects
// again by itself. It never sends a command twice.
//
// See: docs/redis.md, weft/redis/subscription.h, weft/redis/consumer.h
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <weft/detail/require.h>
#include <weft/redis/command.h>
#include <weft/redis/error.h>
#include <weft/redis/reply.h>
#include <weft/redis/transport.h>

namespace weft::redis {

namespace detail {
class pool;
class connection;
}  // namespace detail

/// Each time is for one command. nanoseconds::max() means no limit.
struct client_options {
    std::string address = "127.0.0.1:6379";  ///< HOST:PORT, or the path of a Unix socket
    std::string user = {};                   ///< empty: the default user
    std::string password = {};               ///< empty: not required
    int database = 0;
    std::string name = {};  ///< that CLIENT LIST shows; empty: none

    std::chrono::nanoseconds connect_time = std::chrono::seconds(5);  ///< name, connection, login
    std::chrono::nanoseconds reply_time = std::chrono::seconds(30);   ///< from the command to its reply
    std::size_t connections_max = 8;                                  ///< that the pool has at a time

    /// If set, it makes the connections, for TLS and for tests: see transport.h. It is called
    /// within connect_time. What it throws leaves the call that needed the connection.
    std::function<std::unique_ptr<transport>()> connect = {};
};

/// A snapshot.
struct client_stats {
    std::size_t connections = 0;  ///< in use or idle
    std::size_t idle = 0;
};

/// One connection, for commands that belong together: WATCH and transactions, SELECT, scripts that
/// keep state. Movable. One green thread uses it at a time. Its destructor returns the connection
/// to the pool, or closes it if its state is not that of a fresh one. The client must outlive it.
class session {
public:
    session(session&&) noexcept;
    session& operator=(session&&) noexcept;
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session();

    /// As client::call() and client::call_all(). After a cancellation, a deadline or a lost
    /// connection every further call throws connection_lost: a reply to an earlier command may
    /// still arrive.
    reply call(const command& c);

    template <typename T>
    [[nodiscard]] T call(const command& c) {
        return call(c).template as<T>();
    }

    std::vector<reply> call_all(const std::vector<command>& commands);

    /// WATCH: the next transaction() fails if one of these keys is changed by another client.
    void watch(const std::vector<std::string>& keys);

    /// As client::transaction(). Returns nullopt if a watched key was changed; nothing was executed
    /// then. Ends the watch.
    [[nodiscard]] std::optional<std::vector<reply>> transaction(const std::vector<command>& commands);

private:
    friend class client;

    explicit session(std::shared_ptr<detail::pool> from);

    detail::connection& checked() const;

    std::shared_ptr<detail::pool> from_;
    std::unique_ptr<detail::connection> connection_;
};

/// A client. Any green or plain thread may use it, and any number at once. Copies share the pool.
class client {
public:
    /// Does not connect. Throws std::invalid_argument for options that cannot be used.
    explicit client(client_options how = {});

    /// Sends a command, and waits for its reply. Throws server_error if that is an error;
    /// std::system_error with an errc; weft::cancelled, weft::timed_out; std::invalid_argument for
    /// a command that changes how the connection replies (SUBSCRIBE, MONITOR …), or that belongs to
    /// a session (WATCH, MULTI, SELECT …).
    reply call(const command& c);

    template <typename T>
    [[nodiscard]] T call(const command& c) {
        return call(c).template as<T>();
    }

    /// The same with another reply_time: for commands that wait in the server, such as BLPOP.
    reply call(const command& c, std::chrono::nanoseconds reply_time);

    /// A pipeline: sends all commands without waiting for replies in between. Returns the replies
    /// in the same order. A command that fails has an error as its reply; the others are executed.
    /// Throws as call(), except server_error. Memory: that of all replies.
    std::vector<reply> call_all(const std::vector<command>& commands);

    /// MULTI and EXEC: the server executes all commands with no other in between. Returns the
    /// replies, of which some may be errors: Redis does not undo the others. Throws server_error if
    /// the server refused one of the commands before the execution; nothing was executed then.
    std::vector<reply> transaction(const std::vector<command>& commands);

    /// Takes a connection of the pool. Waits if all are in use. Throws as call().
    [[nodiscard]] session open();

    [[nodiscard]] const client_options& options() const noexcept;
    [[nodiscard]] client_stats stats() const;

private:
    std::shared_ptr<detail::pool> pool_;
};

}  // namespace weft::redis
