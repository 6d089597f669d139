// hard_times_test.cc: clients that are slow, gone or too many; servers that end. In simulations: a
// minute takes no time, and each deadline is exact.
#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

#include <weft/cancel.h>
#include <weft/sim/network.h>

#include "http/served.h"

namespace weft::test {
namespace {

using http::request;
using http::response;
using clock = std::chrono::steady_clock;

template <typename F>
clock::duration time_of(F f) {
    const clock::time_point begin = clock::now();
    f();
    return clock::now() - begin;
}

// Each step of a simulation takes a microsecond.
bool is_about(clock::duration took, clock::duration expected) { return took > expected - 1ms && took < expected + 1ms; }

void add_echo(http::server& to) {
    to.handle("/", [](request& r, response& w) { w.send(r.body()); });
}

WEFT_SIM_TEST_WITH(HttpHardTimes, RefusesAHeaderThatTrickles, few_schedules()) {
    const served s(add_echo);
    raw_client c(s);
    wait_group trickling;
    bool over = false;
    trickling.go([&] {
        c.send("GET / HTTP/1.1\r\n");
        for (int i = 0; i < 100 && !over; ++i) {
            sleep_for(1s);
            c.send("X: y\r\n");
        }
    });
    answer a;
    EXPECT_TRUE(is_about(time_of([&] { a = c.receive(); }), 10s));
    over = true;
    EXPECT_EQ(a.status, 408U);
    EXPECT_TRUE(a.has("Connection: close"));
    trickling.wait();
}

WEFT_SIM_TEST_WITH(HttpHardTimes, RefusesABodyThatTrickles, few_schedules()) {
    const served s(add_echo);
    raw_client c(s);
    wait_group trickling;
    bool over = false;
    trickling.go([&] {
        c.send(request_text("POST /", "Content-Length: 1000\r\n"));
        for (int i = 0; i < 100 && !over; ++i) {
            sleep_for(1s);
            c.send("x");
        }
    });
    EXPECT_TRUE(is_about(time_of([&] { EXPECT_EQ(c.receive().status, 408U); }), 30s));
    over = true;
    trickling.wait();
}

WEFT_SIM_TEST_WITH(HttpHardTimes, CountsOnlyTheTimeInWhichItWaitsForABody, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("POST /", [](request& r, response& w) {
            std::array<char, 1> first{};
            static_cast<void>(r.read_some(first));
            sleep_for(1h);  // the client is not to blame
            w.send(std::string(first.data(), 1) + r.body());
        });
    });
    raw_client c(s);
    c.stream().clear_deadline();
    c.send(request_text("POST /", "Content-Length: 4\r\n", "12"));
    wait_group later;
    later.go([&] {
        sleep_for(1h + 20s);
        c.send("34");
    });
    EXPECT_EQ(c.receive().body, "1234");
    later.wait();
}

WEFT_SIM_TEST_WITH(HttpHardTimes, TakesALongBodyThatKeepsItsRate, few_schedules()) {
    http::server_options how;
    how.body_max = 10'000'000;
    const served s(
        [](http::server& to) {
            to.handle("POST /", [](request& r, response& w) { w.send(std::to_string(r.body().size())); });
        },
        how);
    raw_client c(s);
    wait_group sending;
    sending.go([&] {
        c.send(request_text("POST /", "Content-Length: 3145728\r\n"));
        for (int i = 0; i < 12; ++i) {  // 4 minutes
            sleep_for(20s);
            c.send(std::string(256 * 1024, 'x'));
        }
    });
    EXPECT_EQ(c.receive().body, "3145728");
    sending.wait();
}

WEFT_SIM_TEST_WITH(HttpHardTimes, ClosesIdleConnectionsWithoutAWord, few_schedules()) {
    const served s(add_echo);
    raw_client c(s);
    EXPECT_TRUE(is_about(time_of([&] { EXPECT_EQ(c.rest(), ""); }), 60s));
    raw_client used(s);
    EXPECT_EQ(used.ask(request_text("GET /")).status, 200U);
    EXPECT_TRUE(is_about(time_of([&] { EXPECT_EQ(used.rest(), ""); }), 60s));
}

WEFT_SIM_TEST_WITH(HttpHardTimes, CutsOffAClientThatDoesNotRead, few_schedules()) {
    bool is_cut = false;
    clock::duration took{};
    {
        const served s([&](http::server& to) {
            to.handle("/", [&](request&, response& w) {
                const clock::time_point begin = clock::now();
                try {
                    for (;;) w.write(std::string(100'000, 'x'));
                } catch (const std::system_error&) {
                    is_cut = true;
                    took = clock::now() - begin;
                    throw;
                }
            });
        });
        raw_client c(s);
        c.send(request_text("GET /"));
        sleep_for(2min);
        EXPECT_TRUE(is_cut);
        EXPECT_EQ(s.reported, "") << "it is not the handler's fault";
    }
    EXPECT_TRUE(is_about(took, 30s));
}

WEFT_SIM_TEST_WITH(HttpHardTimes, CancelsAHandlerWhoseClientHasGone, few_schedules()) {
    bool is_cancelled = false;
    clock::time_point at;
    const served s([&](http::server& to) {
        to.handle("/slow", [&](request&, response& w) {
            try {
                sleep_for(1h);
            } catch (const cancelled&) {
                is_cancelled = true;
                at = clock::now();
                throw;
            }
            w.send("slow");
        });
    });
    raw_client c(s);
    c.send(request_text("GET /slow"));
    sleep_for(10s);
    EXPECT_FALSE(is_cancelled);
    const clock::time_point gone = clock::now();
    c.stream().close();
    sleep_for(1s);
    EXPECT_TRUE(is_cancelled);
    EXPECT_TRUE(is_about(at - gone, 0s));
}

WEFT_SIM_TEST_WITH(HttpHardTimes, KeepsRequestsThatArriveWhileAHandlerIsSlow, few_schedules()) {
    const served s([&](http::server& to) {
        to.handle("/slow", [](request&, response& w) {
            sleep_for(1s);
            w.send("slow");
        });
        to.handle("POST /next", [](request& r, response& w) { w.send("next " + r.body()); });
    });
    raw_client c(s);
    c.send(request_text("GET /slow"));
    sleep_for(500ms);  // it watches by now
    c.send(request_text("POST /next", "Content-Length: 3\r\n", "ab"));
    sleep_for(100ms);
    c.send("c");
    EXPECT_EQ(c.receive().body, "slow");
    EXPECT_EQ(c.receive().body, "next abc");
    EXPECT_EQ(c.ask(request_text("GET /slow")).body, "slow");
}

WEFT_SIM_TEST_WITH(HttpHardTimes, ReadsNoMoreThanOnceAheadOfSlowHandlers, few_schedules()) {
    const served s([&](http::server& to) { to.handle("/", [](request&, response&) { sleep_for(100ms); }); });
    raw_client c(s);
    std::size_t sent = 0;
    wait_group sending;
    sending.go([&] {
        const std::string text = request_text("GET /");
        for (std::error_code ec; !ec; sent += text.size()) c.stream().write_all(text, ec);
    });
    EXPECT_EQ(c.receive().status, 200U);
    const std::size_t at_first = sent;
    for (int i = 0; i < 24; ++i) EXPECT_EQ(c.receive().status, 200U);
    EXPECT_LE(sent, at_first + 64 * 1024) << "the rest waits in the socket";
    c.stream().close();
    sending.wait();
}

WEFT_SIM_TEST_WITH(HttpHardTimes, CutsOffAClientThatReadsTooSlowly, few_schedules()) {
    bool is_cut = false;
    {
        const served s([&](http::server& to) {
            to.handle("/", [&](request&, response& w) {
                try {
                    for (;;) w.write(std::string(17'000, 'x'));
                } catch (const std::system_error&) {
                    is_cut = true;
                    throw;
                }
            });
        });
        raw_client c(s);
        c.send(request_text("GET /"));
        for (int i = 0; i < 60 && !is_cut; ++i) {  // a write of the handler takes about 10 s
            sleep_for(2s);
            static_cast<void>(c.part());
        }
        EXPECT_TRUE(is_cut) << "256 KiB take more than write_time";
    }
}

WEFT_SIM_TEST_WITH(HttpHardTimes, ReportsACancellationOfTheHandlersOwn, few_schedules()) {
    const served s([](http::server& to) { to.handle("/", [](request&, response&) { throw cancelled(); }); });
    raw_client c(s);
    EXPECT_EQ(c.ask(request_text("GET /")).status, 500U);
    EXPECT_EQ(s.reported, " /: ?");
}

WEFT_SIM_TEST_WITH(HttpHardTimes, LetsAHandlerFinishIfTheWatchIsOff, few_schedules()) {
    http::server_options how;
    how.cancel_if_client_gone = false;
    bool is_done = false;
    {
        const served s(
            [&](http::server& to) {
                to.handle("/slow", [&](request&, response&) {
                    sleep_for(10s);
                    is_done = true;
                });
            },
            how);
        raw_client c(s);
        c.send(request_text("GET /slow"));
        sleep_for(1s);
        c.stream().close();
    }
    EXPECT_TRUE(is_done);
}

WEFT_SIM_TEST_WITH(HttpHardTimes, LimitsTheTimeOfHandlers, few_schedules()) {
    http::server_options how;
    how.handler_time = 5s;
    const served s([](http::server& to) { to.handle("/", [](request&, response&) { sleep_for(1h); }); }, how);
    raw_client c(s);
    EXPECT_TRUE(is_about(time_of([&] { EXPECT_EQ(c.ask(request_text("GET /")).status, 503U); }), 5s));
    EXPECT_EQ(c.ask(request_text("GET /")).status, 503U);
}

WEFT_SIM_TEST_WITH(HttpHardTimes, TurnsAwayWhatIsTooMuch, few_schedules()) {
    http::server_options how;
    how.connections_max = 2;
    served s(add_echo, how);
    {
        raw_client a(s);
        raw_client b(s);
        EXPECT_EQ(a.ask(request_text("GET /")).status, 200U);
        EXPECT_EQ(b.ask(request_text("GET /")).status, 200U);
        raw_client c(s);
        const answer no = c.ask(request_text("GET /"));
        EXPECT_EQ(no.status, 503U);
        EXPECT_TRUE(no.has("Retry-After: 1"));
    }
    sleep_for(10s);
    EXPECT_EQ(raw_client(s).ask(request_text("GET /")).status, 200U);
    EXPECT_EQ(s.server().stats().turned_away, 1U);
}

WEFT_SIM_TEST_WITH(HttpHardTimes, WaitsAtTheEndForWhatItTurnedAwayUntilTheDeadline, few_schedules()) {
    http::server_options how;
    how.connections_max = 1;
    served s(add_echo, how);
    raw_client a(s);
    EXPECT_EQ(a.ask(request_text("GET /")).status, 200U);
    raw_client b(s);
    sleep_for(10ms);
    EXPECT_EQ(s.server().stats().turned_away, 1U);
    EXPECT_TRUE(is_about(time_of([&] { s.server().shutdown(500ms); }), 500ms));
}

WEFT_SIM_TEST_WITH(HttpHardTimes, DrainsWithoutCuttingOff, few_schedules()) {
    served s([](http::server& to) {
        to.handle("/slow", [](request&, response& w) {
            sleep_for(5s);
            w.send("slow");
        });
    });
    raw_client idle(s);
    raw_client half(s);
    raw_client busy(s);
    half.send("GET /slow HTTP/1.1\r\n");
    busy.send(request_text("GET /slow"));
    sleep_for(1s);
    wait_group ending;
    ending.go([&] { EXPECT_TRUE(is_about(time_of([&] { EXPECT_EQ(s.server().shutdown(1min), 0U); }), 6s)); });
    EXPECT_TRUE(is_about(time_of([&] { EXPECT_EQ(idle.rest(), ""); }), 0s));
    sleep_for(1s);
    EXPECT_THROW(raw_client{s}, std::system_error) << "it does not listen any more";
    half.send("Host: x\r\n\r\n");
    for (raw_client* c : {&busy, &half}) {
        const answer a = c->receive();
        EXPECT_EQ(a.body, "slow");
        EXPECT_TRUE(a.has("Connection: close"));
        EXPECT_EQ(c->rest(), "");
        c->stream().close();
    }
    ending.wait();
}

WEFT_SIM_TEST_WITH(HttpHardTimes, CutsOffWhatRemainsAtTheDeadline, few_schedules()) {
    bool is_cancelled = false;
    served s([&](http::server& to) {
        to.handle("/slow", [&](request&, response&) {
            try {
                sleep_for(1h);
            } catch (const cancelled&) {
                is_cancelled = true;
                throw;
            }
        });
    });
    raw_client c(s);
    c.send(request_text("GET /slow"));
    sleep_for(1s);
    EXPECT_TRUE(is_about(time_of([&] { EXPECT_EQ(s.server().shutdown(10s), 1U); }), 10s));
    EXPECT_TRUE(is_cancelled);
    EXPECT_EQ(c.rest(), "");
}

WEFT_SIM_TEST_WITH(HttpHardTimes, CutsOffHandlersThatJustBegin, {.schedules = 300, .lateness = 0ns}) {
    served s([&](http::server& to) { to.handle("/slow", [](request&, response&) { sleep_for(1h); }); });
    raw_client a(s);
    raw_client b(s);
    a.send(request_text("GET /slow"));
    b.send(request_text("GET /slow"));
    EXPECT_TRUE(is_about(time_of([&] { s.server().shutdown(0s); }), 0s));
}

WEFT_SIM_TEST_WITH(HttpHardTimes, EndsWithItsScope, few_schedules()) {
    http::server s;
    add_echo(s);
    net::tcp_listener l(net::endpoint::loopback(0));
    const net::endpoint at = l.local_endpoint();
    EXPECT_THROW(with_timeout(5s, [&] { s.serve(l); }), timed_out);
    EXPECT_THROW(static_cast<void>(net::tcp_stream::connect(at)), std::system_error);
}

WEFT_SIM_TEST_WITH(HttpHardTimes, SurvivesResetsAtAnyPoint, few_schedules()) {
    const sim::network net({.latency = 1ms, .jitter = 3ms});
    http::server s;
    s.handle("/", [](request& r, response& w) {
        const std::string body = r.body();
        for (int i = 0; i < 20; ++i) w.write(std::string(10'000, 'x'));
    });
    net::tcp_listener l = net.listen("srv:80");
    wait_group serving;
    serving.go([&] { s.serve(l); });
    const sim::host bad = net.add_host("bad");
    wait_group clients;
    for (int i = 0; i < 3; ++i) {
        clients.add();
        bad.go([&] {
            try {
                net::tcp_stream c = net.dial("srv:80");
                c.write_all(request_text("POST /", "Content-Length: 4\r\n", sim::choose(2) == 0 ? "ab" : "abcd"));
                sleep_for(std::chrono::milliseconds(sim::choose(10)));
            } catch (const std::system_error&) {
                // Its host has no power.
            } catch (const cancelled&) {
                // As above.
            }
            clients.done();
        });
    }
    sleep_for(std::chrono::milliseconds(sim::choose(10)));
    bad.crash();
    shield([&] { clients.wait(); });
    bad.restart();
    net::tcp_stream good = net.dial("srv:80");
    good.write_all(request_text("POST /", "Content-Length: 4\r\nConnection: close\r\n", "abcd"));
    std::size_t bytes = 0;
    std::array<char, 4096> part{};
    while (const std::size_t n = good.read_some(part)) bytes += n;
    EXPECT_GT(bytes, 200'000U);
    good.close();
    s.shutdown(1h);
    serving.wait();
    EXPECT_EQ(s.stats().open, 0U);
}

}  // namespace
}  // namespace weft::test
