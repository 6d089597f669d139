// connection.cc: see connection.h.
#include "redis/connection.h"

#include <poll.h>

#include <array>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/net/resolve.h>
#include <weft/net/unix.h>

namespace weft::redis::detail {

namespace {

using std::chrono::steady_clock;

constexpr std::size_t read_size = 16 * 1024;

std::unique_ptr<transport> connected_to(const std::string& address) {
    if (address.find('/') != std::string::npos) return make_transport(net::unix_stream::connect(address));
    net::tcp_stream s = net::dial(address);
    s.set_keep_alive(true);
    return make_transport(std::move(s));
}

bool is_interruption(const std::error_code& ec) noexcept {
    return ec == weft::errc::timed_out || ec == weft::errc::cancelled;
}

}  // namespace

bool is_transient(std::string_view error) noexcept {
    return error.starts_with("LOADING ") || error.starts_with("BUSY ") || error.starts_with("MASTERDOWN ");
}

time_point time_after(std::chrono::nanoseconds d) {
    const time_point now = steady_clock::now();
    return d >= time_point::max() - now ? time_point::max() : now + d;
}

connection::connection(const client_options& how) : address_(how.address) {
    try {
        weft::with_timeout(how.connect_time, [&] {
            transport_ = how.connect ? how.connect() : connected_to(how.address);
            log_in(how);
        });
    } catch (const weft::timed_out&) {
        weft::throw_if_cancelled();  // the deadline may be that of the caller
        fail(errc::connect_timed_out, {});
    } catch (const std::system_error& e) {
        if (how.connect || e.code().category() == error_category()) throw;
        fail(errc::could_not_connect, e.what());
    }
}

void connection::log_in(const client_options& how) {
    std::vector<command> greetings;
    if (!how.password.empty()) {
        command auth("AUTH");
        if (!how.user.empty()) auth.add(how.user);
        greetings.push_back(auth.add(how.password));
    }
    if (!how.name.empty()) greetings.emplace_back("CLIENT", "SETNAME", how.name);
    if (how.database != 0) greetings.emplace_back("SELECT", how.database);
    for (const reply& r : call_all(greetings, std::chrono::nanoseconds::max())) {
        if (r.is_error()) fail(is_transient(r.text()) ? errc::could_not_connect : errc::login_refused, r.text());
    }
}

void connection::check_usable() {
    if (!is_in_step())
        fail(errc::connection_lost,
             "an earlier command failed or was interrupted, or the server sent more replies than commands: call "
             "client::open() again");
}

reply connection::call(const command& c, std::chrono::nanoseconds reply_time) {
    check_usable();
    const time_point deadline = time_after(reply_time);
    send(c, deadline);
    std::optional<reply> r = receive_until(deadline);
    if (!r) fail(errc::reply_timed_out, std::string(c.name()));
    return std::move(*r);
}

std::vector<reply> connection::call_all(const std::vector<command>& commands, std::chrono::nanoseconds reply_time) {
    check_usable();
    std::vector<reply> replies;
    replies.reserve(commands.size());
    std::size_t sent = 0;
    while (replies.size() < commands.size()) {
        const time_point deadline = time_after(reply_time);
        // Half of the window at a time: the server answers one half while the other one is sent.
        if (outstanding_ <= window / 2) {
            while (sent < commands.size() && outstanding_ < window && out_.size() < window_bytes) {
                ++outstanding_;  // first: a command that is written in part must not be followed by another one
                commands[sent++].write_to(out_);
            }
            write_out(deadline);
        }
        std::optional<reply> r = receive_until(deadline);
        if (!r) fail(errc::reply_timed_out, std::string(commands[replies.size()].name()));
        replies.push_back(std::move(*r));
    }
    return replies;
}

void connection::send(const command& c, time_point deadline) {
    ++outstanding_;
    c.write_to(out_);
    write_out(deadline);
}

std::optional<reply> connection::receive_until(time_point deadline) {
    for (;;) {
        try {
            if (std::optional<reply> r = parser_.next()) {
                if (!greeted_ && r->is_error() && r->text().starts_with("ERR max number of clients"))
                    fail(errc::could_not_connect, r->text());  // the answer to the connection, not to a command
                greeted_ = true;
                if (outstanding_ != 0) --outstanding_;  // otherwise it is a message of a subscription
                return r;
            }
        } catch (...) {
            broken_ = true;
            throw;
        }
        if (!read_some(deadline)) return std::nullopt;
    }
}

void connection::write_out(time_point deadline) {
    if (out_.empty()) return;
    std::error_code ec;
    transport_->set_deadline(deadline);
    transport_->write_all(net::const_buffer(out_.data(), out_.size()), ec);
    out_.clear();
    if (!ec) return;
    broken_ = true;  // the server may have a part of the command
    if (is_interruption(ec)) {
        weft::throw_if_cancelled();
        fail(errc::reply_timed_out, "the server does not read");
    }
    fail(errc::connection_lost, ec.message());
}

// Returns false if nothing has arrived by the deadline.
bool connection::read_some(time_point deadline) {
    std::array<char, read_size> bytes;
    std::error_code ec;
    transport_->set_deadline(deadline);
    const std::size_t n = transport_->read_some(net::mutable_buffer(bytes.data(), bytes.size()), ec);
    if (is_interruption(ec)) {
        if (ec == weft::errc::cancelled) throw weft::cancelled();
        weft::throw_if_cancelled();  // the caller's deadline
        return false;
    }
    if (ec) fail(errc::connection_lost, ec.message());
    if (n == 0) fail(errc::connection_lost, "the server closed it");
    parser_.feed(std::string_view(bytes.data(), n));
    return true;
}

bool connection::is_still_there() const noexcept {
    // No reply is expected: if the socket is readable, that is its end or unusable data.
    pollfd p{.fd = transport_->native_handle(), .events = POLLIN, .revents = 0};
    return ::poll(&p, 1, 0) == 0;
}

void connection::fail(errc why, const std::string& detail) {
    broken_ = true;
    throw std::system_error(why, "weft: Redis at " + address_ + (detail.empty() ? "" : ": " + detail));
}

}  // namespace weft::redis::detail
