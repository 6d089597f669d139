// http2_hard_times_test.cc: clients of HTTP/2 that are slow, gone, or attack; servers that end. In
// simulations: a minute takes no time, and each deadline is exact.
#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/cancel.h>

#include "http/http2_client.h"
#include "support/resources.h"

namespace weft::test {
namespace {

using http::request;
using http::response;
using h2_clock = std::chrono::steady_clock;

sim::options h2_schedules(uint64_t count = 15) { return {.schedules = count, .lateness = 0ns}; }

template <typename F>
h2_clock::duration h2_time_of(F f) {
    const h2_clock::time_point begin = h2_clock::now();
    f();
    return h2_clock::now() - begin;
}

// Each step of a simulation takes a microsecond.
bool h2_is_about(h2_clock::duration took, h2_clock::duration expected) {
    return took > expected - 5ms && took < expected + 5ms;
}

// "/" echoes, "/slow" takes an hour. Counts the slow handlers.
struct slow_handlers {
    std::atomic<int> running = 0;
    std::atomic<int> begun = 0;
    std::atomic<int> cancelled = 0;

    void operator()(http::server& to) {
        to.handle("/{$}", [](request& r, response& w) { w.send(r.body()); });
        to.handle("/slow", [this](request&, response& w) {
            ++begun;
            ++running;
            try {
                sleep_for(1h);
            } catch (const weft::cancelled&) {
                --running;
                ++cancelled;
                throw;
            }
            --running;
            w.send("slow");
        });
        to.handle("/deaf", [this](request&, response& w) {  // is not cancelled
            ++begun;
            ++running;
            weft::shield([] { sleep_for(10s); });
            --running;
            w.send("deaf");
        });
    }
};

// ---- Clients that go.

WEFT_SIM_TEST_WITH(Http2HardTimes, CancelsTheHandlerOfAStreamThatIsReset, h2_schedules()) {
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); });
    h2_client c(s);
    c.ask(1, "GET", "/slow");
    c.ask(3, "GET", "/slow");
    sleep_for(10s);
    EXPECT_EQ(slow.running, 2);
    c.reset(1);
    sleep_for(1s);
    EXPECT_EQ(slow.cancelled, 1);
    EXPECT_EQ(c.get(5, "/").status, 200U);
    c.stream().close();
    sleep_for(1s);
    EXPECT_EQ(slow.cancelled, 2);
}

WEFT_SIM_TEST_WITH(Http2HardTimes, TellsAHandlerThatItsBodyIsIncomplete, h2_schedules()) {
    std::string why;
    const served s([&](http::server& to) {
        to.handle("POST /", [&](request& r, response& w) {
            try {
                w.send(r.body());
            } catch (const std::system_error& e) {
                why = e.code() == http::errc::incomplete_body ? "incomplete" : e.what();
                throw;
            }
        });
    });
    h2_client c(s);
    c.ask(1, "POST", "/", {}, false);
    c.data(1, "begin", false);
    sleep_for(1s);
    c.reset(1);
    sleep_for(1s);
    EXPECT_EQ(why, "incomplete");
}

WEFT_SIM_TEST_WITH(Http2HardTimes, AnswersAClientThatClosesItsSendingSideIfToldTo, h2_schedules()) {
    http::server_options how;
    how.cancel_if_client_gone = false;
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); }, how);
    h2_client c(s);
    c.ask(1, "GET", "/deaf");
    c.ask(3, "POST", "/", {}, false);
    sleep_for(1s);
    c.stream().shutdown_send();
    EXPECT_TRUE(h2_is_about(h2_time_of([&] { EXPECT_TRUE(c.receive(3).reset) << "its body is incomplete"; }), 0s));
    EXPECT_EQ(c.receive(1).body, "deaf");
    EXPECT_TRUE(h2_is_about(h2_time_of([&] { c.rest(); }), 0s));
}

// ---- Limits.

WEFT_SIM_TEST_WITH(Http2HardTimes, RefusesMoreStreamsThanAllowed, h2_schedules()) {
    http::server_options how;
    how.http2_streams_max = 2;
    slow_handlers slow;
    served s([&](http::server& to) { slow(to); }, how);
    h2_client c(s);
    c.ask(1, "GET", "/deaf");
    c.ask(3, "GET", "/deaf");
    sleep_for(1s);
    c.ask(5, "GET", "/deaf");
    EXPECT_EQ(c.receive(5).reset, uint32_t{NGHTTP2_REFUSED_STREAM});
    // A stream that was reset counts until its handler has returned.
    c.reset(1);
    c.ask(7, "GET", "/deaf");
    EXPECT_EQ(c.receive(7).reset, uint32_t{NGHTTP2_REFUSED_STREAM});
    EXPECT_EQ(c.receive(3).body, "deaf");
    EXPECT_EQ(c.get(9, "/").status, 200U);
    EXPECT_EQ(slow.begun, 2);
}

WEFT_SIM_TEST_WITH(Http2HardTimes, EndsAConnectionThatResetsManyStreams, h2_schedules(3)) {
    slow_handlers slow;
    served s([&](http::server& to) { slow(to); });
    h2_client c(s);
    for (uint32_t id = 1; id < 1001; id += 2) {
        c.ask(id, "GET", "/slow");
        c.reset(id);
    }
    c.rest();
    EXPECT_EQ(c.goaway(), uint32_t{NGHTTP2_ENHANCE_YOUR_CALM});
    EXPECT_LE(s.server().stats().requests, 201U);
    sleep_for(1s);
    EXPECT_EQ(slow.running, 0);
}

WEFT_SIM_TEST_WITH(Http2HardTimes, AllowsAClientToCancelFromTimeToTime, h2_schedules(2)) {
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); });
    h2_client c(s);
    for (uint32_t id = 1; id < 801; id += 2) {
        c.ask(id, "GET", "/slow");
        c.reset(id);
        sleep_for(100ms);
    }
    EXPECT_EQ(c.get(801, "/").status, 200U);
}

// CVE-2025-8671: the client breaks rules, so that the server resets the streams.
WEFT_SIM_TEST_WITH(Http2HardTimes, EndsAConnectionThatMakesTheServerResetManyStreams, h2_schedules(2)) {
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); });
    h2_client c(s);
    for (uint32_t id = 1; id < 1001; id += 2) {
        c.ask(id, "GET", "/slow");
        c.enlarge(id, 0x7fffffff);  // the window overflows
    }
    c.rest();
    EXPECT_EQ(c.goaway(), uint32_t{NGHTTP2_ENHANCE_YOUR_CALM});
    sleep_for(1s);
    EXPECT_EQ(slow.running, 0);
}

WEFT_SIM_TEST_WITH(Http2HardTimes, RefusesLargeHeaders, h2_schedules()) {
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); });
    h2_client c(s);
    c.ask(1, "GET", "/", {{"x", std::string(9000, 'x')}});
    EXPECT_EQ(c.receive(1).status, 431U);
    c.ask(3, "GET", "/", h2_client::fields(300, {"x", "y"}));  // each counts 32 bytes more
    EXPECT_EQ(c.receive(3).status, 431U);
    EXPECT_EQ(c.get(5, "/").status, 200U);
    c.ask(7, "POST", "/", {}, false);
    c.send(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 7,
           h2_client::block({{"x", std::string(9000, 'x')}}));
    EXPECT_EQ(c.receive(7).status, 400U) << "trailers";
}

// One byte refers to a field of 4000 bytes, which the table of the decoder keeps.
WEFT_SIM_TEST_WITH(Http2HardTimes, EndsAConnectionWithAHeaderThatExpands, h2_schedules(3)) {
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); });
    h2_client c(s);
    std::string block = h2_client::block(h2_client::request_fields("GET", "/"));
    std::string indexed = h2_client::block({{"x", std::string(4000, 'x')}});
    indexed[0] = 0x40;
    block += indexed + std::string(10'000, '\xbe');
    c.send(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1, block);
    c.rest();
    EXPECT_EQ(c.goaway(), uint32_t{NGHTTP2_ENHANCE_YOUR_CALM});
}

WEFT_SIM_TEST_WITH(Http2HardTimes, EndsAConnectionThatContinuesAHeaderWithoutEnd, h2_schedules(3)) {
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); });
    for (const std::string& part : {std::string(), h2_client::block({{"x", std::string(1000, 'x')}})}) {
        h2_client c(s);
        c.send(NGHTTP2_HEADERS, 0, 1, h2_client::block(h2_client::request_fields("GET", "/")));
        const auto took = h2_time_of([&] {
            for (int i = 0; i < 1000; ++i) c.send(NGHTTP2_CONTINUATION, 0, 1, part);
            c.rest();
        });
        EXPECT_TRUE(c.is_closed);
        EXPECT_LT(took, 11s);
    }
}

WEFT_SIM_TEST_WITH(Http2HardTimes, EndsAConnectionThatSendsPointlessFrames, h2_schedules(2)) {
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); });
    const std::string nothing(8, '\0');
    const std::string priority(5, '\1');
    const std::string padded = h2_client::frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1, std::string(5, '\4'));
    for (const std::string& one :
         {h2_client::frame(NGHTTP2_PING, 0, 0, nothing), h2_client::frame(NGHTTP2_SETTINGS, 0, 0, {}),
          h2_client::frame(NGHTTP2_PRIORITY, 0, 1, priority), h2_client::frame(NGHTTP2_DATA, 0, 1, {}), padded}) {
        h2_client c(s);
        c.ask(1, "POST", "/", {}, false);
        std::string all;
        for (int i = 0; i < 3000; ++i) all += one;
        c.send_bytes(all);
        c.rest();
        EXPECT_EQ(c.goaway(), uint32_t{NGHTTP2_ENHANCE_YOUR_CALM}) << int{one[3]};
        EXPECT_LT(c.pings_answered + c.settings_answered, 1100U);
    }
}

WEFT_SIM_TEST_WITH(Http2HardTimes, AnswersPings, h2_schedules()) {
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); });
    h2_client c(s);
    for (unsigned i = 1; i <= 50; ++i) {
        c.send(NGHTTP2_PING, 0, 0, "12345678");
        EXPECT_TRUE(c.until([&] { return c.pings_answered == i; }));
    }
}

// ---- Slow clients.

WEFT_SIM_TEST_WITH(Http2HardTimes, ResetsAStreamWhoseWindowStaysShut, h2_schedules()) {
    bool is_late = false;
    h2_clock::duration took{};
    served s([&](http::server& to) {
        to.handle("GET /", [&](request&, response& w) {
            const h2_clock::time_point begin = h2_clock::now();
            try {
                w.write(std::string(100'000, 'x'));
            } catch (const std::system_error& e) {
                is_late = e.code() == std::errc::timed_out;
                took = h2_clock::now() - begin;
                throw;
            }
        });
        to.handle("GET /short", [](request&, response& w) { w.send("short"); });
    });
    h2_client c(s, {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0}});
    c.ask(1, "GET", "/");
    EXPECT_TRUE(c.receive(1).reset);
    EXPECT_TRUE(is_late);
    EXPECT_TRUE(h2_is_about(took, 30s));
    c.ask(3, "GET", "/short");
    EXPECT_TRUE(h2_is_about(h2_time_of([&] { EXPECT_TRUE(c.receive(3).reset); }), 30s)) << "the handler has returned";
    EXPECT_EQ(s.reported, "") << "it is not the handler's fault";
}

WEFT_SIM_TEST_WITH(Http2HardTimes, DoesNotProlongWritingForSingleBytes, h2_schedules(3)) {
    const served s([&](http::server& to) {
        to.handle("GET /", [&](request&, response& w) { w.write(std::string(100'000, 'x')); });
    });
    h2_client c(s, {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0}});
    c.ask(1, "GET", "/");
    wait_group enlarging;
    bool over = false;
    enlarging.go([&] {
        while (!over) {
            sleep_for(1s);
            c.enlarge(1, 1);
        }
    });
    c.has_window = false;
    EXPECT_TRUE(h2_is_about(h2_time_of([&] { EXPECT_TRUE(c.receive(1).reset); }), 30s));
    over = true;
    enlarging.wait();
}

WEFT_SIM_TEST_WITH(Http2HardTimes, CutsOffAClientThatDoesNotRead, h2_schedules(3)) {
    std::atomic<int> cut = 0;
    const served s([&](http::server& to) {
        to.handle("GET /", [&](request&, response& w) {
            try {
                for (;;) w.write(std::string(100'000, 'x'));
            } catch (...) {
                ++cut;
                throw;
            }
        });
    });
    h2_client c(s, {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0x7fffffff}});
    c.enlarge(0, 0x7fff0000);
    for (const uint32_t id : {1U, 3U, 5U}) c.ask(id, "GET", "/");
    sleep_for(29s);
    EXPECT_EQ(cut, 0);
    sleep_for(2s);
    EXPECT_EQ(cut, 3);
}

WEFT_SIM_TEST_WITH(Http2HardTimes, DoesNotReadFromAClientThatDoesNotReadAnswers, h2_schedules(2)) {
    slow_handlers slow;
    served s([&](http::server& to) { slow(to); });
    h2_client c(s);
    std::size_t sent = 0;
    const std::string all = h2_client::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1,
                                             h2_client::block(h2_client::request_fields("POST", "/")));
    c.send_bytes(all);
    wait_group sending;
    std::error_code ec;
    sending.go([&] {  // WINDOW_UPDATE and PING; no answer is read
        std::string frames;
        for (int i = 0; i < 10; ++i) frames += h2_client::frame(NGHTTP2_PING, 0, 0, "12345678");
        for (; !ec && sent < 100'000'000; sent += frames.size()) {
            c.stream().write_all(frames, ec);
            sleep_for(120ms);
        }
    });
    sending.wait();
    EXPECT_TRUE(ec);
    EXPECT_LT(s.server().stats().open, 2U);
}

WEFT_SIM_TEST_WITH(Http2HardTimes, EndsAHeaderThatTrickles, h2_schedules()) {
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); });
    h2_client c(s);
    c.ask(1, "GET", "/slow");
    c.until([&] { return c.settings_answered == 1; });
    sleep_for(5s);
    c.send(NGHTTP2_HEADERS, 0, 3, h2_client::block(h2_client::request_fields("GET", "/")));
    EXPECT_TRUE(h2_is_about(h2_time_of([&] { c.rest(); }), 10s));
    EXPECT_EQ(c.goaway(), uint32_t{NGHTTP2_ENHANCE_YOUR_CALM});
    sleep_for(1s);
    EXPECT_EQ(slow.cancelled, 1);
}

WEFT_SIM_TEST_WITH(Http2HardTimes, EndsAConnectionWithoutSettings, h2_schedules()) {
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); });
    h2_client c(s, true);
    c.answers = false;
    EXPECT_TRUE(h2_is_about(h2_time_of([&] { c.rest(); }), 10s));
}

// The bytes could be the begin of the preface, or of POST.
WEFT_SIM_TEST_WITH(Http2HardTimes, EndsAPrefaceThatTrickles, h2_schedules()) {
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); });
    raw_client c(s);
    c.send("P");
    EXPECT_TRUE(h2_is_about(h2_time_of([&] { EXPECT_EQ(c.receive().status, 408U); }), 10s));
}

WEFT_SIM_TEST_WITH(Http2HardTimes, EndsIdleConnections, h2_schedules()) {
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); });
    h2_client c(s);
    EXPECT_TRUE(h2_is_about(h2_time_of([&] { c.rest(); }), 60s));
    EXPECT_EQ(c.goaway(), uint32_t{NGHTTP2_NO_ERROR});
    h2_client used(s);
    sleep_for(30s);
    EXPECT_EQ(used.get(1, "/deaf").status, 200U);
    EXPECT_TRUE(h2_is_about(h2_time_of([&] {
                                for (int i = 0; i < 5; ++i) {
                                    sleep_for(10s);
                                    used.send(NGHTTP2_PING, 0, 0, "12345678");  // do not count
                                }
                                used.rest();
                            }),
                            60s));
}

WEFT_SIM_TEST_WITH(Http2HardTimes, LimitsBodies, h2_schedules()) {
    http::server_options how;
    how.body_max = 1000;
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); }, how);
    h2_client c(s);
    c.ask(1, "POST", "/", {{"content-length", "1001"}}, false);
    EXPECT_EQ(c.receive(1).status, 413U);
    c.ask(3, "POST", "/", {}, false);
    c.data(3, std::string(1001, 'x'), false);
    EXPECT_EQ(c.receive(3).status, 413U);
    c.ask(5, "POST", "/", {}, false);
    c.data(5, std::string(1000, 'x'), true);
    EXPECT_EQ(c.receive(5).status, 200U);
    c.ask(7, "POST", "/", {{"content-encoding", "gzip"}}, false);
    c.data(7, "x", true);
    EXPECT_EQ(c.receive(7).status, 415U);
    c.ask(9, "POST", "/", {}, false);
    wait_group trickling;
    bool over = false;
    trickling.go([&] {
        while (!over) {
            c.data(9, "x", false);
            sleep_for(1s);
        }
    });
    EXPECT_TRUE(h2_is_about(h2_time_of([&] { EXPECT_EQ(c.receive(9).status, 408U); }), 30s));
    over = true;
    trickling.wait();
}

// The handler is always a little behind the client.
WEFT_SIM_TEST_WITH(Http2HardTimes, KeepsOnlyTheUnreadPartOfABody, h2_schedules(1)) {
    constexpr std::size_t behind = 20'000;
    constexpr std::size_t piece = 10'000;
    constexpr std::size_t size = 20'000'000;
    constexpr std::size_t most_kib = 4'000;
    std::size_t grown = 0;
    std::atomic<std::size_t> sent = 0;
    http::server_options how;
    how.body_max = 2 * size;
    const served s(
        [&](http::server& to) {
            to.handle("POST /", [&](request& r, response& w) {
                const std::size_t before = heap_in_use_kib();
                std::array<char, piece> part{};
                for (std::size_t read = 0; read + behind + piece < size;) {
                    while (sent < read + behind + piece) sleep_for(1ms);
                    read += r.read_some(part);
                }
                const std::size_t after = heap_in_use_kib();
                grown = after > before ? after - before : 0;
                w.send(r.body());
            });
        },
        how);
    h2_client c(s);
    c.ask(1, "POST", "/", {}, false);
    wait_group receiving;
    receiving.go([&] { c.receive(1); });
    const std::string data(piece, 'x');
    constexpr std::size_t window = 65535;
    while (sent < size) {
        while (sent + piece > window + c.enlarged[1]) sleep_for(1ms);
        c.data(1, data, sent + piece == size);
        sleep_for(1ms);  // it arrives
        sent += piece;
    }
    receiving.wait();
    EXPECT_EQ(c.streams[1].status, 200U);
    EXPECT_LT(grown, most_kib);
}

WEFT_SIM_TEST_WITH(Http2HardTimes, SkipsABodyOnlyForAMoment, h2_schedules(3)) {
    const served s([](http::server& to) {
        to.handle("POST /", [](request& r, response& w) {
            std::array<char, 4096> part{};
            for (std::size_t read = 0; read < 250'000;) read += r.read_some(part);
            w.send("enough");
        });
    });
    h2_client c(s);
    c.ask(1, "POST", "/", {}, false);
    constexpr std::size_t piece = 10'000;
    for (std::size_t sent = 0; sent < 270'000; sent += piece) {
        c.until([&] { return sent + piece <= 65535 + c.enlarged[1]; });
        c.data(1, std::string(piece, 'x'), false);
    }
    EXPECT_TRUE(h2_is_about(h2_time_of([&] { c.until([&] { return c.streams[1].reset.has_value(); }); }), 500ms));
    EXPECT_EQ(c.streams[1].body, "enough");
}

WEFT_SIM_TEST_WITH(Http2HardTimes, LimitsTheTimeOfHandlers, h2_schedules()) {
    http::server_options how;
    how.handler_time = 5s;
    const served s([](http::server& to) { to.handle("/", [](request&, response&) { sleep_for(1h); }); }, how);
    h2_client c(s);
    EXPECT_TRUE(h2_is_about(h2_time_of([&] { EXPECT_EQ(c.get(1, "/").status, 503U); }), 5s));
}

// ---- Servers that end.

WEFT_SIM_TEST_WITH(Http2HardTimes, FinishesStreamsBeforeItEnds, h2_schedules()) {
    slow_handlers slow;
    served s([&](http::server& to) { slow(to); });
    h2_client c(s);
    h2_client idle(s);
    c.answers = false;  // PING: what is under way still finds the server, for a second
    c.ask(1, "GET", "/deaf");
    sleep_for(1s);
    wait_group ending;
    std::size_t cut_off = 99;
    ending.go([&] { cut_off = s.server().shutdown(30s); });
    c.until([&] { return !c.goaways.empty(); });
    EXPECT_EQ(c.goaways.back(), (std::pair<uint32_t, uint32_t>(0x7fffffff, NGHTTP2_NO_ERROR)));
    EXPECT_EQ(c.get(3, "/").status, 200U);
    c.until([&] { return c.goaways.size() == 2; });
    EXPECT_EQ(c.goaways.back(), (std::pair<uint32_t, uint32_t>(3, NGHTTP2_NO_ERROR)));
    c.ask(5, "GET", "/");
    EXPECT_EQ(c.receive(1).body, "deaf");
    c.rest();
    EXPECT_EQ(c.streams[5].status, 0U);
    c.stream().close();
    idle.rest();
    EXPECT_EQ(idle.goaways.size(), 2U);
    idle.stream().close();
    ending.wait();
    EXPECT_EQ(cut_off, 0U);
}

WEFT_SIM_TEST_WITH(Http2HardTimes, CutsOffStreamsAtTheDeadline, h2_schedules()) {
    for (const bool is_gone : {false, true}) {
        http::server_options how;
        how.cancel_if_client_gone = false;
        slow_handlers slow;
        served s([&](http::server& to) { slow(to); }, how);
        h2_client c(s);
        c.ask(1, "GET", "/slow");
        sleep_for(1s);
        if (is_gone) c.stream().close();
        sleep_for(1s);
        EXPECT_EQ(slow.running, 1);
        EXPECT_TRUE(h2_is_about(h2_time_of([&] { EXPECT_EQ(s.server().shutdown(30s), 1U); }), 30s));
        EXPECT_EQ(slow.cancelled, 1);
    }
}

WEFT_SIM_TEST_WITH(Http2HardTimes, EndsAConnectionWhoseLogThrows, h2_schedules()) {
    http::server_options how;
    how.access_log = [](const http::access_entry&) { throw std::runtime_error("no disk"); };
    slow_handlers slow;
    const served s([&](http::server& to) { slow(to); }, how);
    h2_client c(s);
    c.ask(3, "GET", "/slow");
    sleep_for(1s);
    c.ask(5, "GET", "/");
    c.rest();
    EXPECT_TRUE(c.is_closed);
    sleep_for(1s);
    EXPECT_EQ(slow.cancelled, 1);
}

WEFT_SIM_TEST_WITH(Http2HardTimes, EndsAServedConnectionWhoseCallerIsCancelled, h2_schedules()) {
    slow_handlers slow;
    http::server server;
    slow(server);
    net::tcp_listener listener(net::endpoint::loopback(0));
    wait_group serving;
    serving.go([&] {
        EXPECT_THROW(weft::with_timeout(10s, [&] { server.serve_connection(listener.accept()); }), weft::timed_out);
    });
    net::tcp_stream client = net::tcp_stream::connect(listener.local_endpoint());
    client.write_all("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2_client::frame(NGHTTP2_SETTINGS, 0, 0, {}) +
                     h2_client::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1,
                                      h2_client::block(h2_client::request_fields("GET", "/slow"))));
    serving.wait();
    EXPECT_EQ(slow.running, slow.begun - slow.cancelled);
    EXPECT_EQ(slow.begun, 1);
}

}  // namespace
}  // namespace weft::test
