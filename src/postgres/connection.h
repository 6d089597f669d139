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
// A statement that an exception has interrupted is in progress (in_progress_) until clean_up() or
// the next statement stops it. The server is asked to stop it over a second connection, as the
// protocol requires. PQcancel blocks until the server has closed that one, so it is called by
// weft::blocking, on a green thread of its own. The connection can be used again only after
// PQcancel has returned and the end of the statement has arrived: a late request would cancel the
// next statement.
//
// Invariant: I1. Between calls, the connection is idle or in a transaction; or a statement is in
//                progress; or it is broken_ and must not be used.
//
// Threads: one green thread at a time.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/postgres/client.h>
#include <weft/wait_fd.h>

#include "postgres/connecting.h"

namespace weft::postgres::detail {

struct notification {
    std::string channel;
    std::string text;
};

class connection {
public:
    using time_point = std::chrono::steady_clock::time_point;

    // Connects and logs in. Throws std::system_error with an errc; weft::cancelled and
    // weft::timed_out, like all functions here that wait.
    explicit connection(const client_options& how);

    // As client's.
    result query(const statement& s);
    result each_row(const statement& s, const std::function<void(const row&)>& f);
    std::vector<result> query_all(const std::vector<statement>& statements);

    // ---- COPY, after begin_copy(). wanted is PGRES_COPY_IN or PGRES_COPY_OUT.

    void begin_copy(const statement& s, ExecStatusType wanted);
    void put(std::string_view bytes);
    uint64_t end_copy();
    [[nodiscard]] std::optional<std::string> get();

    // ---- LISTEN.

    // Waits for a notification. Returns nullopt if none arrives by the deadline.
    [[nodiscard]] std::optional<notification> receive_until(time_point deadline);

    // Returns the name as an SQL identifier, in quotes: "name".
    [[nodiscard]] std::string quoted(const std::string& name) const;

    // ---- The state.

    // Its user may have changed settings: clean_up() discards them.
    void taint() noexcept { tainted_ = true; }

    [[nodiscard]] bool is_broken() const noexcept { return broken_ || PQstatus(handle_.get()) != CONNECTION_OK; }

    [[nodiscard]] bool is_in_transaction() const noexcept { return PQtransactionStatus(handle_.get()) != PQTRANS_IDLE; }

    // Whether another user could use it as it is.
    [[nodiscard]] bool is_clean() const noexcept {
        return !is_broken() && !in_progress_ && !tainted_ && !is_in_transaction();
    }

    // Makes it clean: stops the statement in progress, rolls back, discards settings. Returns false
    // if that is not possible within cancel_time. Not interrupted.
    [[nodiscard]] bool clean_up() noexcept;

    // For an unused connection: the server has not closed it.
    [[nodiscard]] bool is_still_there() const noexcept;

private:
    static constexpr std::size_t prepared_max = 256;

    void begin_statement();
    bool stop_statement();
    bool drain();

    const std::string* prepared_name(const statement& s);
    void send(const statement& s);
    void flush();
    void consume();
    std::optional<result> next_result();
    std::optional<result> last_result(std::optional<diagnostics>& failed);
    result finish(std::optional<result> last, const std::optional<diagnostics>& failed);
    std::optional<result> take(result r, std::optional<diagnostics>& failed);
    [[noreturn]] void fail();

    connection_handle handle_;
    weft::watched_fd socket_;  // destroyed before libpq closes the descriptor
    const std::chrono::nanoseconds cancel_time_;
    std::map<std::string, std::string, std::less<>> prepared_;  // the names of statements, by their SQL
    uint64_t next_name_ = 0;
    bool in_progress_ = false;
    bool is_synced_ = false;  // in pipeline mode: the end of the pipeline was sent
    bool tainted_ = false;
    bool broken_ = false;
};

}  // namespace weft::postgres::detail
