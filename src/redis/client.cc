// client.cc: see weft/redis/client.h.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <weft/redis/client.h>

#include "redis/connection.h"
#include "redis/pool.h"

namespace weft::redis {

namespace {

char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view n) {
        return std::equal(name.begin(), name.end(), n.begin(), n.end(), [](char a, char b) { return upper(a) == b; });
    });
}

// After these, replies come without a command, or not at all.
constexpr std::array<std::string_view, 9> unordered = {
    "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "MONITOR", "SUNSUBSCRIBE", "SYNC", "PSYNC"};

// These change the state of a connection, which the next user of the pool must not find.
constexpr std::array<std::string_view, 14> stateful = {"WATCH", "UNWATCH",  "MULTI",     "EXEC",   "DISCARD",
                                                       "AUTH",  "SELECT",   "HELLO",     "CLIENT", "QUIT",
                                                       "RESET", "READONLY", "READWRITE", "ASKING"};

void refuse_unordered(const command& c) {
    if (!is_one_of(c.name(), unordered)) return;
    throw std::invalid_argument("weft: redis: " + std::string(c.name()) +
                                " has no single reply: use redis::subscription for messages");
}

void refuse_stateful(const command& c) {
    refuse_unordered(c);
    if (!is_one_of(c.name(), stateful)) return;
    throw std::invalid_argument("weft: redis: " + std::string(c.name()) +
                                " changes the state of its connection: use client::open(), client::transaction() or "
                                "client_options");
}

// MULTI, the commands, EXEC. Returns the reply to EXEC, or the first error before it.
reply executed(detail::connection& on, const std::vector<command>& commands, std::chrono::nanoseconds reply_time) {
    std::vector<command> all;
    all.reserve(commands.size() + 2);
    all.emplace_back("MULTI");
    for (const command& c : commands) {
        refuse_stateful(c);
        all.push_back(c);
    }
    all.emplace_back("EXEC");
    std::vector<reply> replies = on.call_all(all, reply_time);
    const auto failed = std::find_if(replies.begin(), replies.end() - 1, [](const reply& r) { return r.is_error(); });
    return std::move(*failed);
}

std::vector<reply> elements_of(const reply& r) { return {r.begin(), r.end()}; }

}  // namespace

// ---- client.

client::client(client_options how) : pool_(std::make_shared<detail::pool>(std::move(how))) {}

reply client::call(const command& c) { return call(c, pool_->how().reply_time); }

reply client::call(const command& c, std::chrono::nanoseconds reply_time) {
    refuse_stateful(c);
    reply r = detail::borrowed(*pool_)->call(c, reply_time);
    r.throw_if_error();
    return r;
}

std::vector<reply> client::call_all(const std::vector<command>& commands) {
    for (const command& c : commands) refuse_stateful(c);
    return detail::borrowed(*pool_)->call_all(commands, pool_->how().reply_time);
}

std::vector<reply> client::transaction(const std::vector<command>& commands) {
    const detail::borrowed on(*pool_);
    const reply r = executed(*on.operator->(), commands, pool_->how().reply_time);
    r.throw_if_error();
    return elements_of(r);
}

session client::open() { return session(pool_); }

const client_options& client::options() const noexcept { return pool_->how(); }

client_stats client::stats() const { return pool_->stats(); }

// ---- session.

session::session(std::shared_ptr<detail::pool> from) : from_(std::move(from)), connection_(from_->borrow()) {}

session::session(session&&) noexcept = default;

session& session::operator=(session&& other) noexcept {
    session old(std::move(*this));
    from_ = std::move(other.from_);
    connection_ = std::move(other.connection_);
    return *this;
}

session::~session() {
    if (connection_) from_->give_back(std::move(connection_));
}

detail::connection& session::checked() const {
    if (!connection_) throw std::logic_error("weft: redis::session: used after it was moved from");
    return *connection_;
}

reply session::call(const command& c) {
    refuse_unordered(c);
    if (is_one_of(c.name(), stateful)) checked().taint();
    reply r = checked().call(c, from_->how().reply_time);
    r.throw_if_error();
    return r;
}

std::vector<reply> session::call_all(const std::vector<command>& commands) {
    for (const command& c : commands) {
        refuse_unordered(c);
        if (is_one_of(c.name(), stateful)) checked().taint();
    }
    return checked().call_all(commands, from_->how().reply_time);
}

void session::watch(const std::vector<std::string>& keys) {
    checked().set_watching(true);
    checked().call(command("WATCH").add_all(keys), from_->how().reply_time).throw_if_error();
}

std::optional<std::vector<reply>> session::transaction(const std::vector<command>& commands) {
    const reply r = executed(checked(), commands, from_->how().reply_time);
    checked().set_watching(false);
    if (r.is_nil()) return std::nullopt;
    r.throw_if_error();
    return elements_of(r);
}

}  // namespace weft::redis
