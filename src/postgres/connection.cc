// connection.cc: see connection.h.
#include "postgres/connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <weft/cancel.h>
#include <weft/error.h>

namespace weft::postgres::detail {

namespace {

using weft::fd_events;

connection_handle connect_within(const client_options& how) {
    try {
        return weft::with_timeout(how.connect_time, [&] { return connect(how.conninfo); });
    } catch (const weft::timed_out&) {
        weft::throw_if_cancelled();  // the deadline may be that of the caller
        throw std::system_error(errc::connect_timed_out, "weft: PostgreSQL");
    }
}

std::string field(const pg_result* r, int which) {
    const char* const text = PQresultErrorField(r, which);
    return text == nullptr ? std::string() : std::string(text);
}

diagnostics diagnostics_of(const pg_result* r) {
    return {.sqlstate = field(r, PG_DIAG_SQLSTATE),
            .message = field(r, PG_DIAG_MESSAGE_PRIMARY),
            .detail = field(r, PG_DIAG_MESSAGE_DETAIL),
            .hint = field(r, PG_DIAG_MESSAGE_HINT),
            .constraint = field(r, PG_DIAG_CONSTRAINT_NAME),
            .table = field(r, PG_DIAG_TABLE_NAME),
            .column = field(r, PG_DIAG_COLUMN_NAME)};
}

// admin_shutdown, crash_shutdown, cannot_connect_now: the server ends the connection.
bool ends_connection(std::string_view sqlstate) noexcept { return sqlstate.starts_with("57P0"); }

[[noreturn]] void refuse(const char* why) { throw std::invalid_argument(std::string("weft: PostgreSQL: ") + why); }

// Refuses, before anything is sent, what libpq would cut off at a zero byte or report like a lost
// connection.
void check_sendable(const statement& s) {
    constexpr std::size_t size_max = 0x3fffffff;  // of a value in the server
    constexpr std::size_t parameters_max = 65'535;
    if (s.sql().find('\0') != std::string::npos) refuse("the SQL text has a zero byte");
    if (s.sql().size() > size_max) refuse("the SQL text is larger than 1 GiB");
    if (s.parameters().size() > parameters_max) refuse("more than 65535 parameters: use COPY, or several statements");
    for (const parameter& p : s.parameters()) {
        const std::optional<std::string>& value = p.value();
        if (!value) continue;
        if (value->size() > size_max) refuse("a parameter is larger than 1 GiB");
        if (!p.is_binary() && value->find('\0') != std::string::npos)
            refuse("text of a parameter has a zero byte: use postgres::bytes");
    }
}

// Whether that command leaves something in the session that DISCARD ALL removes.
bool leaves_state(std::string_view tag) noexcept {
    constexpr std::array<std::string_view, 5> tags = {"SET", "RESET", "LISTEN", "PREPARE", "DECLARE CURSOR"};
    return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

bool is_copy(ExecStatusType s) noexcept { return s == PGRES_COPY_IN || s == PGRES_COPY_OUT || s == PGRES_COPY_BOTH; }

}  // namespace

connection::connection(const client_options& how)
    : handle_(connect_within(how)), socket_(PQsocket(handle_.get())), cancel_time_(how.cancel_time) {
    if (PQsetnonblocking(handle_.get(), 1) != 0) fail();
}

// ---- Statements.

// Stops a statement that was interrupted, when a session goes on after it.
void connection::begin_statement() {
    if (in_progress_ && !is_broken() && !stop_statement()) broken_ = true;
    if (is_broken()) throw std::system_error(errc::connection_lost, "weft: PostgreSQL: the connection was lost before");
}

result connection::query(const statement& s) {
    check_sendable(s);
    begin_statement();
    send(s);
    flush();
    std::optional<diagnostics> failed;
    std::optional<result> last = last_result(failed);
    return finish(std::move(last), failed);
}

result connection::each_row(const statement& s, const std::function<void(const row&)>& f) {
    check_sendable(s);
    begin_statement();
    send(s);
    PQsetSingleRowMode(handle_.get());
    flush();
    std::optional<diagnostics> failed;
    std::optional<result> last;
    while (std::optional<result> r = next_result()) {
        if (PQresultStatus(r->native_handle()) == PGRES_SINGLE_TUPLE) {
            f((*r)[0]);
        } else if (std::optional<result> good = take(std::move(*r), failed)) {
            last = std::move(good);
        }
    }
    return finish(std::move(last), failed);
}

std::vector<result> connection::query_all(const std::vector<statement>& statements) {
    for (const statement& s : statements) check_sendable(s);
    begin_statement();
    for (const statement& s : statements) prepared_name(s);
    is_synced_ = false;
    if (PQenterPipelineMode(handle_.get()) != 1) fail();
    in_progress_ = true;
    for (const statement& s : statements) send(s);
    if (PQpipelineSync(handle_.get()) != 1) fail();
    is_synced_ = true;
    flush();
    std::vector<result> results;
    results.reserve(statements.size());
    std::optional<diagnostics> failed;
    for (std::size_t i = 0; i < statements.size(); ++i) {
        if (std::optional<result> r = last_result(failed)) results.push_back(std::move(*r));
    }
    static_cast<void>(next_result());  // PGRES_PIPELINE_SYNC
    if (PQexitPipelineMode(handle_.get()) != 1) fail();
    in_progress_ = false;
    if (failed) throw server_error(*failed);
    return results;
}

// Returns the name of a statement that is or was prepared; nullptr: it is sent as it is.
const std::string* connection::prepared_name(const statement& s) {
    if (!s.is_prepared()) return nullptr;
    if (const auto found = prepared_.find(s.sql()); found != prepared_.end()) return &found->second;
    if (prepared_.size() == prepared_max) return nullptr;
    // Each name is used once: if this is interrupted, the server may know it.
    const std::string name = "weft_" + std::to_string(next_name_++);
    in_progress_ = true;
    if (PQsendPrepare(handle_.get(), name.c_str(), s.sql().c_str(), 0, nullptr) != 1) fail();
    flush();
    std::optional<diagnostics> failed;
    std::optional<result> last = last_result(failed);
    finish(std::move(last), failed);
    return &prepared_.emplace(s.sql(), name).first->second;
}

void connection::send(const statement& s) {
    const std::string* const name = prepared_name(s);
    std::vector<const char*> values;
    std::vector<int> sizes;
    std::vector<int> formats;
    for (const parameter& p : s.parameters()) {
        const std::optional<std::string>& value = p.value();
        values.push_back(value ? value->c_str() : nullptr);
        sizes.push_back(value ? static_cast<int>(value->size()) : 0);
        formats.push_back(p.is_binary() ? 1 : 0);
    }
    const int count = static_cast<int>(values.size());
    in_progress_ = true;
    const int sent = name != nullptr ? PQsendQueryPrepared(handle_.get(), name->c_str(), count, values.data(),
                                                           sizes.data(), formats.data(), 0)
                                     : PQsendQueryParams(handle_.get(), s.sql().c_str(), count, nullptr, values.data(),
                                                         sizes.data(), formats.data(), 0);
    if (sent != 1) fail();
}

// ---- COPY.

void connection::begin_copy(const statement& s, ExecStatusType wanted) {
    check_sendable(s);
    begin_statement();
    send(s);
    flush();
    std::optional<diagnostics> failed;
    std::optional<result> r = next_result();
    if (r && PQresultStatus(r->native_handle()) == wanted) return;
    const bool other = r && !take(std::move(*r), failed) && !failed;
    if (failed) {
        std::optional<result> last = last_result(failed);
        finish(std::move(last), failed);
    }
    throw std::invalid_argument(other ? "weft: PostgreSQL: the COPY is in the other direction"
                                      : "weft: PostgreSQL: the statement is no COPY with STDIN or STDOUT: use query()");
}

void connection::put(std::string_view bytes) {
    constexpr std::size_t piece = 1 << 20;
    while (!bytes.empty()) {
        const std::string_view next = bytes.substr(0, piece);
        const int put = PQputCopyData(handle_.get(), next.data(), static_cast<int>(next.size()));
        if (put < 0) fail();
        if (put == 1) bytes.remove_prefix(next.size());
        flush();
    }
}

uint64_t connection::end_copy() {
    while (true) {
        const int ended = PQputCopyEnd(handle_.get(), nullptr);
        if (ended < 0) fail();
        flush();
        if (ended == 1) break;
    }
    std::optional<diagnostics> failed;
    std::optional<result> last = last_result(failed);
    return finish(std::move(last), failed).affected();
}

std::optional<std::string> connection::get() {
    for (;;) {
        char* data = nullptr;
        const int size = PQgetCopyData(handle_.get(), &data, 1);
        if (size > 0) {
            std::string copied(data, static_cast<std::size_t>(size));
            PQfreemem(data);
            return copied;
        }
        if (size < -1) fail();
        if (size == -1) break;
        socket_.wait(fd_events::readable);
        consume();
    }
    std::optional<diagnostics> failed;
    std::optional<result> last = last_result(failed);
    finish(std::move(last), failed);
    return std::nullopt;
}

// ---- LISTEN.

std::optional<notification> connection::receive_until(time_point deadline) {
    for (;;) {
        if (PGnotify* const n = PQnotifies(handle_.get())) {
            notification copied{n->relname, n->extra};
            PQfreemem(n);
            return copied;
        }
        if (socket_.wait_until(fd_events::readable, deadline) == fd_events::none) return std::nullopt;
        consume();
    }
}

std::string connection::quoted(const std::string& name) const {
    if (name.find('\0') != std::string::npos) throw std::invalid_argument("weft: PostgreSQL: a name has a zero byte");
    char* const text = PQescapeIdentifier(handle_.get(), name.data(), name.size());
    if (text == nullptr) throw std::invalid_argument("weft: PostgreSQL: not a name: " + name);
    std::string copied(text);
    PQfreemem(text);
    return copied;
}

bool connection::is_still_there() const noexcept {
    // No result is expected: if the socket is readable, that is its end, or the reason for it.
    pollfd p{.fd = PQsocket(handle_.get()), .events = POLLIN, .revents = 0};
    return ::poll(&p, 1, 0) == 0;
}

// ---- Sending and receiving.

// Sends everything. If the server does not accept data, it also reads: the server may be waiting
// for its results to be read.
void connection::flush() {
    for (;;) {
        const int left = PQflush(handle_.get());
        if (left < 0) fail();
        if (left == 0) return;
        const fd_events possible = socket_.wait(fd_events::either);
        if ((possible & fd_events::readable) != fd_events::none) consume();
    }
}

void connection::consume() {
    if (PQconsumeInput(handle_.get()) != 1) fail();
}

// Returns nullopt if the statement has ended.
std::optional<result> connection::next_result() {
    while (PQisBusy(handle_.get()) != 0) {
        socket_.wait(fd_events::readable);
        consume();
    }
    PGresult* const r = PQgetResult(handle_.get());
    if (r == nullptr) return std::nullopt;
    return result(r);
}

// Waits for the end of a statement. Keeps the first error.
std::optional<result> connection::last_result(std::optional<diagnostics>& failed) {
    std::optional<result> last;
    while (std::optional<result> r = next_result()) {
        if (std::optional<result> good = take(std::move(*r), failed)) last = std::move(good);
    }
    return last;
}

// The statement has ended.
result connection::finish(std::optional<result> last, const std::optional<diagnostics>& failed) {
    in_progress_ = false;
    if (failed) throw server_error(*failed);
    return last ? std::move(*last) : result(nullptr);
}

// Returns r unless it is an error, or a COPY that the caller did not begin.
std::optional<result> connection::take(result r, std::optional<diagnostics>& failed) {
    const ExecStatusType status = PQresultStatus(r.native_handle());
    if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE) {
        diagnostics d = diagnostics_of(r.native_handle());
        if (PQstatus(handle_.get()) != CONNECTION_OK || ends_connection(d.sqlstate)) fail();
        if (!failed) failed = std::move(d);
        return std::nullopt;
    }
    if (status == PGRES_PIPELINE_ABORTED) return std::nullopt;  // because of an earlier error
    if (is_copy(status)) throw std::invalid_argument("weft: PostgreSQL: use copy_in or copy_out for this statement");
    const std::string_view tag = r.tag();
    if (tag == "DISCARD ALL" || tag == "DEALLOCATE ALL") prepared_.clear();
    if (leaves_state(tag)) tainted_ = true;
    return r;
}

void connection::fail() {
    broken_ = true;
    throw std::system_error(errc::connection_lost,
                            "weft: PostgreSQL: " + without_line_end(PQerrorMessage(handle_.get())));
}

}  // namespace weft::postgres::detail
