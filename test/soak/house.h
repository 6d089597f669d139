// house.h: servers at one address each, which they leave and take again from time to time, while
// their connections stay.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include <weft/net/resolve.h>
#include <weft/net/tcp.h>
#include <weft/net/unix.h>
#include <weft/weft.h>

#include "soak/books.h"
#include "soak/talk.h"
#include "support/random.h"
#include "support/scale.h"

#if WEFT_TEST_WITH_TLS
#include <weft/tls/stream.h>
#endif

namespace weft::test {

// ---- Kinds of streams: how to listen and connect.

struct at_tcp {
    using stream = net::tcp_stream;
    using listener = net::tcp_listener;
    static constexpr errand client = errand::tcp_client;
    static constexpr errand server = errand::tcp_server;

    net::endpoint address;

    [[nodiscard]] listener listen() const { return listener(address); }

    [[nodiscard]] stream accept(listener& l, std::error_code& ec) const { return l.accept(ec); }

    // Connects by its address, or by the name of this machine.
    [[nodiscard]] stream connect(prng& random, std::error_code& ec) const {
        if (random.one_in(6)) return net::dial("localhost:" + std::to_string(address.port()), ec);
        return stream::connect(address, ec);
    }
};

struct at_unix {
    using stream = net::unix_stream;
    using listener = net::unix_listener;
    static constexpr errand client = errand::unix_client;
    static constexpr errand server = errand::unix_server;

    net::unix_address address;

    [[nodiscard]] listener listen() const { return listener(address); }

    [[nodiscard]] stream accept(listener& l, std::error_code& ec) const { return l.accept(ec); }

    [[nodiscard]] stream connect(prng& /*random*/, std::error_code& ec) const { return stream::connect(address, ec); }
};

#if WEFT_TEST_WITH_TLS
struct at_tls {
    using stream = tls::stream;
    using listener = net::tcp_listener;
    static constexpr errand client = errand::tls_client;
    static constexpr errand server = errand::tls_server;
    static constexpr const char* host = "example.test";

    net::endpoint address;
    tls::context trusting;
    tls::context serving;
    tls::client_options how;  // for a separate context

    [[nodiscard]] listener listen() const { return listener(address); }

    [[nodiscard]] stream accept(listener& l, std::error_code& ec) const {
        net::tcp_stream s = l.accept(ec);
        return ec ? stream() : stream::server(std::move(s), serving);
    }

    [[nodiscard]] stream connect(prng& random, std::error_code& ec) const {
        if (random.one_in(2)) return stream::connect(address, host, trusting, ec);
        net::tcp_stream s = net::tcp_stream::connect(address, ec);
        if (ec) return {};
        // The first writer makes the handshake later.
        return stream::client(std::move(s), host, random.one_in(10) ? tls::context::client(how) : trusting);
    }
};
#endif

// ---- A server.

template <typename Kind>
class house {
public:
    house(books& all, Kind kind) : books_(all), kind_(std::move(kind)) {}

    // Begins to listen.
    void open(prng random) {
        listen();
        ++times_;
        for (int i = 0; i < 2; ++i) accepting_.go([this, r = random.split()]() mutable { accept_all(r); });
    }

    // Stops listening. Connections stay.
    void close() {
        ++times_;
        listener_.close();
        accepting_.wait();
    }

    void wait_for_guests() { guests_.wait(); }

    // How often it was opened and closed. Odd while it is open.
    [[nodiscard]] uint64_t times() const noexcept { return times_; }

    [[nodiscard]] const Kind& kind() const noexcept { return kind_; }

private:
    // A child process that is being started has a copy of each descriptor until it executes its
    // program. The address is taken until then.
    void listen() {
        for (const auto end = std::chrono::steady_clock::now() + patience();; sleep_for(std::chrono::milliseconds(1))) {
            try {
                listener_ = kind_.listen();
                return;
            } catch (const std::system_error& e) {
                if (e.code() != std::errc::address_in_use || std::chrono::steady_clock::now() > end) throw;
            }
        }
    }

    void accept_all(prng random) {
        for (;;) {
            std::error_code ec;
            auto s = kind_.accept(listener_, ec);
            if (ec == errc::closed) return;
            if (ec) {
                books_.mistake(Kind::server, "accept: " + ec.message());
                return;
            }
            guests_.go([this, s = std::move(s), r = random.split()]() mutable {
                answer(books_, Kind::server, std::move(s), r);
            });
        }
    }

    books& books_;
    const Kind kind_;
    typename Kind::listener listener_;
    wait_group accepting_;
    wait_group guests_;
    std::atomic<uint64_t> times_ = 0;
};

// ---- A client.

// Calls f in a context that may interrupt it. An exception of f becomes an error.
template <typename F>
void in_circumstances(ending how, prng& random, std::error_code& ec, F f) {
    const std::chrono::microseconds moment(random.below(5000));
    const auto interruptible = [&] {
        try {
            f();
        } catch (const cancelled&) {
            ec = errc::cancelled;
        } catch (const timed_out&) {
            ec = errc::timed_out;
        }
    };
    if (how == ending::timeout) {
        with_timeout(moment, interruptible);
    } else if (how == ending::cancelled) {
        scope([&](task_scope& s) {
            s.go(interruptible);
            sleep_for(moment);
            s.cancel();
        });
    } else {
        f();
    }
}

template <typename Kind>
void visit(books& all, const house<Kind>& at, prng random, bool damaged = false) {
    operation what(all, Kind::client);
    conversation c = conversation::at_random(random);
    if (damaged) c = {.key = random.next(), .size_there = 1000, .size_back = 10, .how = ending::in_turn, .damaged = 1};
    const uint64_t times = at.times();
    bool was_heard = false;
    std::error_code ec;
    in_circumstances(c.how, random, ec, [&] {
        auto s = at.kind().connect(random, ec);
        if (!ec) converse(what, s, c, random.split(), was_heard, ec);
    });
    outcomes expected = client_ends(c.how);
    const bool was_away = times % 2 == 0 || at.times() != times;
    if (was_away && !was_heard) expected |= either(outcome::refused, outcome::cut);
    if (ec == std::errc::address_not_available) expected |= just(outcome::refused);
    what.ends(ec, expected);
}

}  // namespace weft::test
