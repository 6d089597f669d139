// connection.h: one connection to a Redis server: hiredis does the protocol, weft does the waiting.
//
// hiredis has a blocking interface, one with callbacks for an event loop, and a third, less known
// one: a context with a non-blocking socket. Its functions do what is possible at once and return:
//
//     redisAppendFormattedCommand   appends a command to its buffer
//     redisBufferWrite              writes from the buffer to the socket, as much as that accepts
//     redisBufferRead               reads from the socket into the parser, if data are available
//     redisGetReplyFromReader       returns a reply, if one is complete
//
// The other two interfaces would block the thread or return to the event loop between these calls.
// Here, a green thread waits for the socket (exchange()), and the code around it remains a sequence
// of calls. No call of hiredis is in progress during a wait, so the green thread may resume on any
// OS thread.
//
// weft also makes the connection (net::dial). hiredis would look up names with a blocking call, and
// try one address after the other.
//
// Invariant: I1. outstanding_ is the number of replies still to come. A connection with outstanding
//                replies must not be reused: its next user would take them for its own. A pool
//                therefore drops it (is_clean()).
//
// Threads: one green thread at a time.
#pragma once

#include <hiredis/hiredis.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/wait_fd.h>

#include "reply.h"

namespace redis_client {

// Where the server is, and the time limits for it.
struct server {
    std::string address = "127.0.0.1:6379";  // or the path of a Unix socket
    std::string password;                    // empty: not required
    std::chrono::milliseconds connect_time{5'000};
    std::chrono::milliseconds silence{15'000};  // of a subscription, before a PING checks the server
};

// A command and its arguments, any bytes.
using command = std::vector<std::string>;

// There is no connection, or it is lost. It is unknown whether the server has executed the
// outstanding commands.
class connection_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class connection {
public:
    // Connects and logs in. Throws connection_error; weft::cancelled and weft::timed_out, like all
    // functions here that wait.
    explicit connection(const server& at);

    connection(connection&&) noexcept = default;
    connection& operator=(connection&&) = delete;
    ~connection() = default;

    // Sends the command and waits for the reply, which may be an error of the server. Throws
    // connection_error.
    reply call(const command& c);

    // Sends all commands without waiting for replies in between. Returns the replies in the same
    // order.
    std::vector<reply> call_all(std::span<const command> commands);

    // ---- The single steps, for subscriptions, where replies arrive without a request.

    void append(const command& c);

    // Sends what was appended, and waits for the next reply. Returns nullopt if none arrives by the
    // deadline.
    std::optional<reply> receive_until(std::chrono::steady_clock::time_point deadline);

    // Whether another user could use the connection: it works, and no reply is outstanding.
    [[nodiscard]] bool is_clean() const noexcept { return context_->err == 0 && outstanding_ == 0; }

    // The same for an unused connection: the server has not closed it.
    [[nodiscard]] bool is_still_there() const;

private:
    struct free_it {
        void operator()(redisContext* c) const noexcept { redisFree(c); }
    };

    void log_in(const std::string& password);
    std::optional<reply> take_parsed();
    bool exchange(std::chrono::steady_clock::time_point deadline);
    [[noreturn]] void fail() const;

    std::unique_ptr<redisContext, free_it> context_;
    weft::watched_fd socket_;  // destroyed before the context closes the descriptor
    std::size_t outstanding_ = 0;
    bool has_unsent_ = false;
};

}  // namespace redis_client
