// subscription.cc: see weft/redis/subscription.h.
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <weft/backoff.h>
#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/redis/subscription.h>

#include "redis/connection.h"

namespace weft::redis {

namespace {

// Receives until the connection breaks.
class subscriber {
public:
    subscriber(const client_options& at, const subscription_options& how, const chan<event>& to)
        : silence_(how.silence), to_(to), connection_(at) {
        const std::size_t wanted = how.channels.size() + how.patterns.size();
        send("SUBSCRIBE", how.channels);
        send("PSUBSCRIBE", how.patterns);
        for (std::size_t confirmed = 0; confirmed < wanted;) {
            const reply r = receive();
            if (r.is_error()) throw std::system_error(errc::login_refused, "weft: Redis: " + r.text());
            if (!forward(r)) ++confirmed;
        }
        to_.send({.what = event::kind::subscribed});
    }

    [[noreturn]] void run() {
        for (;;) forward(receive());
    }

private:
    void send(const char* name, const std::vector<std::string>& of) {
        if (!of.empty()) connection_.send(command(name).add_all(of), detail::time_after(silence_));
    }

    // Returns the next reply. A PING detects a server that has vanished without closing the
    // connection, for example after a power failure.
    reply receive() {
        if (std::optional<reply> r = connection_.receive_until(detail::time_after(silence_))) return std::move(*r);
        connection_.send("PING", detail::time_after(silence_));
        if (std::optional<reply> r = connection_.receive_until(detail::time_after(silence_))) return std::move(*r);
        throw std::system_error(errc::reply_timed_out, "weft: Redis: no reply to PING");
    }

    // Forwards a message, and returns true. Returns false for a reply to SUBSCRIBE or PING.
    bool forward(const reply& r) {
        if (r.size() == 3 && r[0].text() == "message") {
            to_.send({.what = event::kind::message, .channel = r[1].text(), .text = r[2].text()});
            return true;
        }
        if (r.size() == 4 && r[0].text() == "pmessage") {
            to_.send(
                {.what = event::kind::message, .channel = r[2].text(), .pattern = r[1].text(), .text = r[3].text()});
            return true;
        }
        return false;
    }

    const std::chrono::nanoseconds silence_;
    const chan<event>& to_;
    detail::connection connection_;
};

void receive_for_ever(const client_options& at, const subscription_options& how, const chan<event>& to) {
    weft::backoff pauses;
    for (;;) {
        try {
            subscriber s(at, how, to);
            pauses.reset();
            s.run();
        } catch (const std::exception& e) {  // also of client_options::connect
            to.send({.what = event::kind::lost, .text = e.what()});
        }
        pauses.wait();
    }
}

}  // namespace

subscription::subscription(const client& of, subscription_options how) : events_(chan<event>::nil()) {
    if (how.channels.empty() && how.patterns.empty())
        throw std::invalid_argument("weft: redis::subscription_options: name a channel or a pattern");
    if (how.silence.count() <= 0)
        throw std::invalid_argument("weft: redis::subscription_options::silence must be more than 0");
    const chan<event> to(how.capacity);
    events_ = to;
    receiving_ = weft::async([at = of.options(), how = std::move(how), to] {
        try {
            receive_for_ever(at, how, to);
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
    if (!receiving_.valid()) return;
    receiving_.cancel();
    weft::shield([this] { receiving_.get(); });
}

}  // namespace weft::redis
