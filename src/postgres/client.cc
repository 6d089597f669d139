// client.cc: see weft/postgres/client.h.
#include <algorithm>
#include <chrono>
#include <random>
#include <stdexcept>
#include <utility>

#include <weft/postgres/client.h>
#include <weft/time.h>

#include "postgres/connection.h"
#include "postgres/pool.h"

namespace weft::postgres {

namespace {

const char* begin_text(isolation level) noexcept {
    switch (level) {
        case isolation::read_committed:
            return "BEGIN ISOLATION LEVEL READ COMMITTED";
        case isolation::repeatable_read:
            return "BEGIN ISOLATION LEVEL REPEATABLE READ";
        case isolation::serializable:
            return "BEGIN ISOLATION LEVEL SERIALIZABLE";
    }
    return "BEGIN";
}

}  // namespace

// ---- client.

client::client(client_options how) : pool_(std::make_shared<detail::pool>(std::move(how))) {}

result client::query(const statement& s) { return detail::lease(pool_).get().query(s); }

result client::each_row(const statement& s, const std::function<void(const row&)>& f) {
    return detail::lease(pool_).get().each_row(s, f);
}

std::vector<result> client::query_all(const std::vector<statement>& statements) {
    return detail::lease(pool_).get().query_all(statements);
}

session client::open() {
    session s(std::make_unique<detail::lease>(pool_));
    s.connection().taint();
    return s;
}

transaction client::begin(isolation level) {
    session s(std::make_unique<detail::lease>(pool_));
    s.query(begin_text(level));
    return transaction(std::move(s));
}

// The range grows with the number of failures. The pause is random, so that conflicting
// transactions do not collide again.
void client::pause_after_conflict(unsigned failed) {
    const unsigned most = 2'000U * std::min(failed + 1, 100U);
    weft::sleep_for(std::chrono::microseconds(
        std::minstd_rand(static_cast<unsigned>(std::chrono::steady_clock::now().time_since_epoch().count()))() % most));
}

const client_options& client::options() const noexcept { return pool_->how(); }

client_stats client::stats() const { return pool_->stats(); }

// ---- session.

session::session(std::unique_ptr<detail::lease> l) noexcept : lease_(std::move(l)) {}

session::session(session&&) noexcept = default;

session& session::operator=(session&&) noexcept = default;

session::~session() = default;

detail::connection& session::connection() const {
    if (!lease_) throw std::logic_error("weft: postgres::session: used after it was moved from");
    return lease_->get();
}

result session::query(const statement& s) { return connection().query(s); }

result session::each_row(const statement& s, const std::function<void(const row&)>& f) {
    return connection().each_row(s, f);
}

std::vector<result> session::query_all(const std::vector<statement>& statements) {
    return connection().query_all(statements);
}

// ---- transaction.

void transaction::commit() {
    const result r = in_.query("COMMIT");
    if (r.tag() == "COMMIT") return;
    throw server_error({.sqlstate = "25P02",
                        .message = "the transaction had failed before, and was rolled back",
                        .detail = {},
                        .hint = {},
                        .constraint = {},
                        .table = {},
                        .column = {}});
}

void transaction::rollback() {
    if (in_.connection().is_in_transaction()) in_.query("ROLLBACK");
}

}  // namespace weft::postgres
