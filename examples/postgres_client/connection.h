// connection.h: one connection to a PostgreSQL server: libpq does the protocol, weft does the
// waiting.
//
// It uses only those functions of libpq that never wait:
//
//     PQsendQueryParams   appends a statement to its buffer
//     PQflush             writes from the buffer to the socket, as much as that accepts
//     PQconsumeInput      reads from the socket into the parser, what is available
//     PQisBusy            whether PQgetResult would have to wait
//
// Between these calls, a green thread waits for the socket. No call of libpq is in progress during
// a wait, so the green thread may resume on any OS thread.
//
// If a deadline or a cancellation interrupts a statement, the server is asked to stop it over a
// second connection, as the protocol requires (interrupt()). PQcancel blocks until the server has
// closed that one, so it is called by weft::blocking. The connection can be reused only after
// PQcancel has returned and the end of the statement has arrived: a late request would cancel the
// next statement.
//
// Invariant: I1. Between calls, the connection is idle or in a transaction; or it is broken_, and
//                must not be used.
//
// Threads: one green thread at a time.
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

// Where the server is, and the time limits for it.
struct server {
    std::string conninfo;  // "host=localhost dbname=shop"
    std::chrono::milliseconds connect_time{5'000};
    std::chrono::milliseconds cancel_time{5'000};  // for stopping a statement
    std::chrono::milliseconds silence{15'000};     // while listening, before a query checks the server
};

// $1, $2 … stand for the parameters. These are text; the server never parses them as SQL.
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
    // Connects and logs in. Throws connection_error; weft::cancelled and weft::timed_out, like all
    // functions here that wait.
    explicit connection(const server& at);

    connection(connection&&) noexcept = default;
    connection& operator=(connection&&) = delete;
    ~connection() = default;

    // Waits for the whole answer. Throws connection_error, statement_error.
    result query(const statement& s);

    // Like query(), for answers that are larger than memory: calls f for each row as it arrives.
    // Returns the end of the answer, which has no rows. f must not use this connection. If f
    // throws, the statement is stopped.
    result each_row(const statement& s, const std::function<void(const result&)>& f);

    // Sends all statements without waiting for answers in between. They form one transaction,
    // unless they say otherwise: either all are executed, or the error of the first that fails is
    // thrown.
    std::vector<result> query_all(std::span<const statement> statements);

    // Waits for a notification (NOTIFY) on the channels to which this connection LISTENs. Returns
    // nullopt if none arrives by the deadline.
    std::optional<notification> receive_until(std::chrono::steady_clock::time_point deadline);

    // Returns the name as an SQL identifier, in quotes: "name".
    [[nodiscard]] std::string quoted(const std::string& name) const;

    // Whether another user could use the connection: it works, and no statement or transaction is
    // in progress.
    [[nodiscard]] bool is_clean() const noexcept;

    // The same for an unused connection: the server has not closed it.
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
    weft::watched_fd socket_;  // destroyed before libpq closes the descriptor
    std::chrono::milliseconds cancel_time_;
    bool broken_ = false;
};

}  // namespace postgres_client
