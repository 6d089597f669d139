// subscription.cc: see weft/postgres/subscription.h.
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <weft/backoff.h>
#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/postgres/subscription.h>

#include "postgres/connection.h"

namespace weft::postgres {

namespace {

// Receives until the connection breaks.
class listener {
public:
    listener(const client_options& at, const subscription_options& how, const chan<event>& to)
        : silence_(how.silence), to_(to), connection_(at) {
        for (const std::string& channel : how.channels) ask("LISTEN " + connection_.quoted(channel));
        to_.send({.what = event::kind::listening});
    }

    [[noreturn]] void run() {
        for (;;) {
            using time_point = detail::connection::time_point;
            const time_point now = std::chrono::steady_clock::now();
            const time_point deadline = silence_ >= time_point::max() - now ? time_point::max() : now + silence_;
            if (std::optional<detail::notification> n = connection_.receive_until(deadline)) {
                to_.send(
                    {.what = event::kind::notification, .channel = std::move(n->channel), .text = std::move(n->text)});
            } else {
                ask("SELECT 1");  // detects a server that has vanished without closing the connection
            }
        }
    }

private:
    void ask(const std::string& sql) {
        try {
            weft::with_timeout(silence_, [&] { connection_.query(statement(sql)); });
        } catch (const weft::timed_out&) {
            weft::throw_if_cancelled();  // the deadline may be that of a caller
            throw std::system_error(errc::connection_lost, "weft: PostgreSQL: the server no longer answers");
        }
    }

    const std::chrono::nanoseconds silence_;
    const chan<event>& to_;
    detail::connection connection_;
};

void listen_for_ever(const client_options& at, const subscription_options& how, const chan<event>& to) {
    weft::backoff pauses;
    for (;;) {
        try {
            listener l(at, how, to);
            pauses.reset();
            l.run();
        } catch (const std::exception& e) {  // also a name that the server cannot read
            to.send({.what = event::kind::lost, .text = e.what()});
        }
        pauses.wait();
    }
}

}  // namespace

subscription::subscription(const client& of, subscription_options how) : events_(chan<event>::nil()) {
    if (how.channels.empty()) throw std::invalid_argument("weft: postgres::subscription_options: name a channel");
    for (const std::string& channel : how.channels) {
        if (channel.find('\0') != std::string::npos)
            throw std::invalid_argument("weft: postgres::subscription_options: the name of a channel has a zero byte");
    }
    if (how.silence.count() <= 0)
        throw std::invalid_argument("weft: postgres::subscription_options::silence must be more than 0");
    const chan<event> to(how.capacity);
    events_ = to;
    listening_ = weft::async([at = of.options(), how = std::move(how), to] {
        try {
            listen_for_ever(at, how, to);
        } catch (const weft::cancelled&) {
            to.close();
        } catch (...) {
            to.close();
            throw;
        }
    });
}

subscription::~subscription() { close(); }

void subscription::close() {
    if (!listening_.valid()) return;
    listening_.cancel();
    weft::shield([this] { listening_.get(); });
}

}  // namespace weft::postgres
