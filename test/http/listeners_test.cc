// listeners_test.cc: listeners, streams and callbacks of the user that fail. In simulations.
#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "http/served.h"

namespace weft::test {
namespace {

using http::request;
using http::response;
using clock = std::chrono::steady_clock;

WEFT_SIM_TEST_WITH(HttpListeners, DropsAConnectionThatCannotBeWrapped, few_schedules()) {
    http::server s;
    s.handle("/", [](request&, response& w) { w.send("x"); });
    net::tcp_listener l(net::endpoint::loopback(0));
    int count = 0;
    wait_group serving;
    serving.go([&] {
        s.serve(l, [&](net::tcp_stream c) {
            if (++count == 1) throw std::runtime_error("the client has gone");
            return c;
        });
    });
    for (const char* begin : {"", "HTTP/1.1 200 OK"}) {
        net::tcp_stream c = net::tcp_stream::connect(l.local_endpoint());
        std::error_code ec;
        c.write_all(request_text("GET /"), ec);
        std::array<char, 4096> part{};
        const std::size_t n = c.read_some(part, ec);
        EXPECT_EQ(std::string(part.data(), n).substr(0, 15), begin);
    }
    s.shutdown(1min);
    serving.wait();
    EXPECT_EQ(s.stats().connections, 1U);
}

struct broken_listener {
    net::tcp_stream accept(std::error_code& /*ec*/) { throw std::logic_error("broken"); }

    void close() { is_closed = true; }

    bool is_closed = false;
};

WEFT_SIM_TEST_WITH(HttpListeners, EndsIfAListenerThrows, few_schedules()) {
    http::server s;
    broken_listener l;
    EXPECT_THROW(s.serve(l), std::logic_error);
    EXPECT_TRUE(l.is_closed);
    EXPECT_EQ(s.shutdown(1min), 0U) << "it has forgotten the listener";
}

WEFT_SIM_TEST_WITH(HttpListeners, SurvivesALogThatThrows, few_schedules()) {
    http::server_options how;
    how.access_log = [](const http::access_entry&) { throw std::runtime_error("the disk is full"); };
    served s([](http::server& to) { to.handle("/", [](request&, response& w) { w.send("x"); }); }, how);
    for (int i = 0; i < 2; ++i) {
        raw_client c(s);
        EXPECT_EQ(c.ask(request_text("GET /")).body, "x");
        EXPECT_EQ(c.rest(), "");
    }
    EXPECT_EQ(s.server().shutdown(1min), 0U);
    EXPECT_EQ(s.server().stats().open, 0U);
}

// A stream with a handshake, as that of TLS.
struct secure_stream : net::tcp_stream {
    explicit secure_stream(net::tcp_stream s) : net::tcp_stream(std::move(s)) {}

    void handshake(std::error_code& /*ec*/) {}
};

WEFT_SIM_TEST_WITH(HttpListeners, TurnsSecureConnectionsAwayWithoutAWord, few_schedules()) {
    http::server_options how;
    how.connections_max = 1;
    served s([](http::server& to) { to.handle("/", [](request&, response& w) { w.send("x"); }); }, how);
    raw_client first(s);
    EXPECT_EQ(first.ask(request_text("GET /")).body, "x");
    net::tcp_listener l(net::endpoint::loopback(0));
    net::tcp_stream c = net::tcp_stream::connect(l.local_endpoint());
    const clock::time_point begin = clock::now();
    s.server().serve_connection(secure_stream(l.accept()));
    EXPECT_LT(clock::now() - begin, 1s);
    std::array<char, 1> none{};
    std::error_code ec;
    EXPECT_EQ(c.read_some(none, ec), 0U);
    EXPECT_EQ(s.server().stats().turned_away, 1U);
}

}  // namespace
}  // namespace weft::test
