#include "connection.h"

#include <array>
#include <exception>
#include <system_error>
#include <utility>

#include <weft/blocking.h>
#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/future.h>

namespace postgres_client {

namespace {

using weft::fd_events;

std::string without_line_end(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

connection_handle connect_within(const server& at) {
    try {
        return weft::with_timeout(at.connect_time, [&] { return connect(at.conninfo); });
    } catch (const std::system_error& e) {
        throw connection_error(std::string("cannot connect: ") + e.what());
    } catch (const connection_error& e) {
        throw connection_error(std::string("cannot connect: ") + e.what());
    } catch (const weft::timed_out&) {
        weft::throw_if_cancelled();  // the deadline may be that of a caller
        throw connection_error("cannot connect: the server does not answer in time; --connect-time sets the limit");
    }
}

bool is_copy(ExecStatusType s) noexcept { return s == PGRES_COPY_IN || s == PGRES_COPY_OUT || s == PGRES_COPY_BOTH; }

// Identifies the statement to stop. May outlive the connection.
struct cancel_request {
    struct free_it {
        void operator()(PGcancel* c) const noexcept { PQfreeCancel(c); }
    };

    std::unique_ptr<PGcancel, free_it> handle;

    // Blocks until the server has seen the request.
    bool send() const {
        std::array<char, 256> why;
        return handle && PQcancel(handle.get(), why.data(), why.size()) != 0;
    }
};

}  // namespace

connection::connection(const server& at)
    : handle_(connect_within(at)), socket_(PQsocket(handle_.get())), cancel_time_(at.cancel_time) {
    if (PQsetnonblocking(handle_.get(), 1) != 0) fail();
}

// ---- Statements.

// Calls f, which waits for the server within a statement. Stops the statement if f is interrupted.
template <typename F>
auto connection::interruptible(F f) {
    try {
        return f();
    } catch (const statement_error&) {
        throw;  // the server has ended the statement
    } catch (...) {
        interrupt();
        throw;
    }
}

result connection::query(const statement& s) {
    send(s);
    return interruptible([&] {
        flush();
        std::optional<statement_error> failed;
        result last = last_of(failed);
        if (failed) throw *failed;
        return last;
    });
}

result connection::each_row(const statement& s, const std::function<void(const result&)>& f) {
    send(s);
    PQsetSingleRowMode(handle_.get());
    return interruptible([&] {
        flush();
        std::optional<statement_error> failed;
        std::optional<result> last;
        while (std::optional<result> r = next_result()) {
            if (r->status() == PGRES_SINGLE_TUPLE) {
                f(*r);
            } else if (std::optional<result> good = take(std::move(*r), failed)) {
                last = std::move(good);
            }
        }
        if (failed) throw *failed;
        return std::move(*last);
    });
}

std::vector<result> connection::query_all(std::span<const statement> statements) {
    if (PQenterPipelineMode(handle_.get()) != 1) fail();
    for (const statement& s : statements) send(s);
    if (PQpipelineSync(handle_.get()) != 1) fail();
    return interruptible([&] {
        flush();
        std::vector<result> results;
        std::optional<statement_error> failed;
        for (std::size_t i = 0; i < statements.size(); ++i) results.push_back(last_of(failed));
        static_cast<void>(next_result());  // PGRES_PIPELINE_SYNC
        if (PQexitPipelineMode(handle_.get()) != 1) fail();
        if (failed) throw *failed;
        return results;
    });
}

std::optional<notification> connection::receive_until(std::chrono::steady_clock::time_point deadline) {
    struct free_it {
        void operator()(PGnotify* n) const noexcept { PQfreemem(n); }
    };

    for (;;) {
        const std::unique_ptr<PGnotify, free_it> n(PQnotifies(handle_.get()));
        if (n) return notification{n->relname, n->extra};
        if (socket_.wait_until(fd_events::readable, deadline) == fd_events::none) return std::nullopt;
        consume();
    }
}

std::string connection::quoted(const std::string& name) const {
    char* const text = PQescapeIdentifier(handle_.get(), name.data(), name.size());
    if (text == nullptr) throw connection_error(without_line_end(PQerrorMessage(handle_.get())));
    std::string copy(text);
    PQfreemem(text);
    return copy;
}

bool connection::is_clean() const noexcept {
    return !broken_ && PQstatus(handle_.get()) == CONNECTION_OK && PQtransactionStatus(handle_.get()) == PQTRANS_IDLE;
}

bool connection::is_still_there() const {
    // No answer is expected: if the socket is readable, that is the end of the connection, or the
    // reason for it.
    return socket_.wait_for(fd_events::readable, std::chrono::seconds(0)) == fd_events::none;
}

// ---- Stopping a statement.

// Establishes I1.
void connection::interrupt() {
    if (broken_) return;
    broken_ = true;
    // What has interrupted the statement must not interrupt this.
    weft::shield([&] {
        try {
            broken_ = !weft::with_timeout(cancel_time_, [&] { return server_stops_it(); });
        } catch (const weft::timed_out&) {
            return;  // the connection is dropped
        } catch (const std::exception&) {
            return;
        }
    });
}

// Returns whether the connection can be used again.
bool connection::server_stops_it() {
    cancel_request request{std::unique_ptr<PGcancel, cancel_request::free_it>(PQgetCancel(handle_.get()))};
    // A server that does not answer blocks only that green thread, not this one.
    weft::future<bool> sent =
        weft::async([r = std::move(request)] { return weft::blocking([&] { return r.send(); }); });
    flush();
    return drain() && sent.get();
}

// Reads to the end of what was sent. The last result says that the statement was cancelled or had
// finished before. Returns false if the end cannot be reached (COPY).
bool connection::drain() {
    const bool pipelined = PQpipelineStatus(handle_.get()) != PQ_PIPELINE_OFF;
    for (;;) {
        const std::optional<result> r = next_result();
        if (!r) {
            if (!pipelined) return true;
        } else if (r->status() == PGRES_PIPELINE_SYNC) {
            return PQexitPipelineMode(handle_.get()) == 1;
        } else if (is_copy(r->status())) {
            return false;
        }
    }
}

// ---- Sending and receiving.

void connection::send(const statement& s) {
    std::vector<const char*> values;
    for (const std::string& p : s.parameters) values.push_back(p.c_str());
    const int count = static_cast<int>(values.size());
    if (PQsendQueryParams(handle_.get(), s.sql.c_str(), count, nullptr, values.data(), nullptr, nullptr, 0) != 1) {
        fail();
    }
}

// Sends everything. If the server does not accept data, it also reads: the server may be waiting
// for its answers to be read.
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
result connection::last_of(std::optional<statement_error>& failed) {
    std::optional<result> last;
    while (std::optional<result> r = next_result()) {
        if (std::optional<result> good = take(std::move(*r), failed)) last = std::move(good);
    }
    return last ? std::move(*last) : result(nullptr);
}

// Returns r unless it is an error.
std::optional<result> connection::take(result r, std::optional<statement_error>& failed) {
    switch (r.status()) {
        case PGRES_FATAL_ERROR:
        case PGRES_BAD_RESPONSE:
            if (PQstatus(handle_.get()) != CONNECTION_OK) fail();
            if (!failed) failed.emplace(r.error_code(), r.error_text());
            return std::nullopt;
        case PGRES_PIPELINE_ABORTED:
            return std::nullopt;  // because of an earlier error
        default:
            break;
    }
    if (!is_copy(r.status())) return r;
    broken_ = true;
    throw connection_error("this program does not support COPY");
}

void connection::fail() {
    broken_ = true;
    throw connection_error("the connection is lost: " + without_line_end(PQerrorMessage(handle_.get())));
}

}  // namespace postgres_client
