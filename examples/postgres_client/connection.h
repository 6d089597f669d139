// connection.h: one connection to a PostgreSQL server: libpq for the protocol, weft for everything that waits.
//
// Of libpq's functions those are used that never wait:
//
//     PQsendQueryParams   into its buffer             PQconsumeInput   from the socket to the parser, what there is
//     PQflush             from there to the socket    PQisBusy         whether PQgetResult would have to wait
//
// In between a green thread waits for the socket. No call of libpq is under way while we wait: so it does not matter on which OS thread a green thread goes on.
//
// Interrupted in the middle of a statement, by a deadline or a cancellation, a connection asks the server to stop it, on another connection, as the protocol
// has it (interrupt()). PQcancel blocks until the server has closed that one, so it is called by weft::blocking. Only when it has returned, and the
// statement's end has come, can the connection be used again: a request that is late would hit the next statement.
//
// Invariant: I1. Where no call is under way the connection is idle or in a transaction, or broken_; then it is of no use for anybody.
//
// Who: one green thread at a time.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <weft/wait_fd.h>

#include "connecting.h"
#include "error.h"
#include "result.h"

namespace postgres_client {

// Where the server is, and how long we have patience with it.
struct server {
    std::string conninfo;  // "host=localhost dbname=shop"
    std::chrono::milliseconds connect_time{5'000};
    std::chrono::milliseconds cancel_time{5'000};  // for stopping a statement
    std::chrono::milliseconds silence{15'000};     // when we listen, before we ask if the server is still there
};

// $1, $2 … stand for the parameters, which are text: nothing of them is ever taken for SQL.
struct statement {
    std::string sql;
    std::vector<std::string> parameters = {};
};

struct notification {
    std::string channel;
    std::string text;
};

class connection {
public:
    // Connects, and logs in. Throws connection_error; weft::cancelled and weft::timed_out, as all that waits here.
    explicit connection(const server& at);

    connection(connection&&) noexcept = default;
    connection& operator=(connection&&) = delete;
    ~connection() = default;

    // Waits for the whole answer. Throws connection_error, statement_error.
    result query(const statement& s);

    // The same, for answers that are larger than memory: hands each row over as it comes. Returns the end, which has no rows. f may not use this
    // connection; if it throws, the rest is stopped.
    result each_row(const statement& s, const std::function<void(const result&)>& f);

    // All of them in one go, without waiting for one before the next is sent. They are one transaction, unless they say otherwise: all of them are
    // done, or the error is thrown of the first that fails.
    std::vector<result> query_all(std::span<const statement> statements);

    // Waits for what others NOTIFY on channels to which this connection LISTENs. Nothing: there was none by then.
    std::optional<notification> receive_until(std::chrono::steady_clock::time_point deadline);

    // "name", with quotes, as it is written in a statement.
    [[nodiscard]] std::string quoted(const std::string& name) const;

    // Whether it could serve anybody else: it works, and there is neither a statement nor a transaction under way.
    [[nodiscard]] bool is_clean() const noexcept;

    // The same for one that lay unused: the server has not closed it meanwhile.
    [[nodiscard]] bool is_still_there() const;

private:
    template <typename F>
    auto interruptible(F f);
    void interrupt();
    bool server_stops_it();
    bool drain();

    void send(const statement& s);
    void flush();
    void consume();
    std::optional<result> next_result();
    result last_of(std::optional<statement_error>& failed);
    std::optional<result> take(result r, std::optional<statement_error>& failed);
    [[noreturn]] void fail();

    connection_handle handle_;
    weft::watched_fd socket_;  // dropped before libpq closes the descriptor
    std::chrono::milliseconds cancel_time_;
    bool broken_ = false;
};

}  // namespace postgres_client
