// connection.h: one connection to a Redis server: hiredis for the protocol, weft for everything that waits.
//
// hiredis comes in a blocking kind, a kind with callbacks for somebody's event loop, and a third one that is hardly known: a context whose socket does not
// block does what can be done at once, and returns. It formats and parses, and never waits:
//
//     redisAppendFormattedCommand   into its buffer
//     redisBufferWrite              from there to the socket, as far as that takes it
//     redisBufferRead               from the socket to the parser, if there is something
//     redisGetReplyFromReader       a reply, if one is complete
//
// In between, where the other two kinds would block the thread or return to their loop, a green thread waits for the socket (exchange()), and the code
// around it stays a sequence of calls. No call of hiredis is under way while we wait: so it does not matter on which OS thread a green thread goes on.
//
// Connecting is weft's, too (net::dial): hiredis would look up names with a call that blocks, and try one address after the other.
//
// Invariant: I1. outstanding_ is how many replies are still to come. A connection with replies to come is of no use for anybody else: he would take them for
//                his own. So no pool takes it back (is_clean()).
//
// Who: one green thread at a time.
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

// Where the server is, and how long we have patience with it.
struct server {
    std::string address = "127.0.0.1:6379";  // or the path of a Unix socket
    std::string password;                    // empty: none is needed
    std::chrono::milliseconds connect_time{5'000};
    std::chrono::milliseconds silence{15'000};  // of a subscription, before we ask if the server is still there
};

// A command and its arguments, any bytes.
using command = std::vector<std::string>;

// There is no connection, or none any more. Whether the server has carried out what was outstanding nobody knows.
class connection_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class connection {
public:
    // Connects, and logs in. Throws connection_error; weft::cancelled and weft::timed_out, as all that waits here.
    explicit connection(const server& at);

    connection(connection&&) noexcept = default;
    connection& operator=(connection&&) = delete;
    ~connection() = default;

    // Sends it, and waits for the reply, which may be an error of the server's. Throws connection_error.
    reply call(const command& c);

    // Sends all of them, without waiting for the reply to one before the next is sent. The replies, in the same order.
    std::vector<reply> call_all(std::span<const command> commands);

    // ---- In pieces: for subscriptions, where replies come that nobody has asked for.

    void append(const command& c);

    // Sends what was appended, and waits for the next reply; nothing: there was none by then.
    std::optional<reply> receive_until(std::chrono::steady_clock::time_point deadline);

    // Whether it could serve anybody else: it works, and nothing is outstanding.
    [[nodiscard]] bool is_clean() const noexcept { return context_->err == 0 && outstanding_ == 0; }

    // The same for one that lay unused: the server has not closed it meanwhile.
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
    weft::watched_fd socket_;  // dropped before the context closes the descriptor
    std::size_t outstanding_ = 0;
    bool has_unsent_ = false;
};

}  // namespace redis_client
