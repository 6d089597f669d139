// http2_test.cc: HTTP/2: what handlers see, and what clients get. In simulations: time is virtual.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <weft/http/compress.h>
#include <weft/http/events.h>
#include <weft/http/files.h>
#include <weft/http/websocket.h>

#include "http/http2_client.h"

namespace weft::test {
namespace {

using http::request;
using http::response;

sim::options some_schedules() { return {.schedules = 15, .lateness = 0ns}; }

WEFT_SIM_TEST_WITH(Http2, AnswersRequestsAsTheyAreReady, some_schedules()) {
    event go_on;
    const served s([&](http::server& to) {
        to.handle("GET /{n}", [&](request& r, response& w) {
            if (r.param("n") == "1") go_on.wait();
            w.send("answer " + std::string(r.param("n")));
        });
    });
    h2_client c(s);
    for (const uint32_t id : {1U, 3U, 5U}) c.ask(id, "GET", "/" + std::to_string(id));
    EXPECT_EQ(c.receive(3).body, "answer 3");
    EXPECT_EQ(c.receive(5).body, "answer 5");
    EXPECT_EQ(c.streams[1].status, 0U);
    go_on.set();
    const h2_stream& a = c.receive(1);
    EXPECT_EQ(a.body, "answer 1");
    EXPECT_EQ(a.status, 200U);
    EXPECT_TRUE(a.has("content-length: 8"));
    EXPECT_TRUE(a.has("content-type: text/plain; charset=utf-8"));
    EXPECT_NE(a.head.find("\ndate: "), std::string::npos);
}

WEFT_SIM_TEST_WITH(Http2, ShowsTheRequest, some_schedules()) {
    const served s([](http::server& to) {
        to.handle("/{x}", [](request& r, response& w) {
            EXPECT_EQ(r.version(), 20U);
            EXPECT_EQ(r.host(), "test");
            EXPECT_EQ(r.header("X-Field"), "value");
            EXPECT_EQ(r.cookie("a"), "1");
            EXPECT_EQ(r.cookie("b"), "2");
            EXPECT_EQ(r.query("q"), "1");
            EXPECT_EQ(r.content_length(), uint64_t{0});
            EXPECT_FALSE(r.is_secure());
            w.set("Connection", "close")
                .set("X-Answer", " of me ")
                .send(std::string(r.method()) + std::string(r.path()));
        });
    });
    h2_client c(s);
    c.ask(1, "PUT", "/%41?q=1", {{"x-field", "value"}, {"cookie", "a=1"}, {"cookie", "b=2"}});
    const h2_stream& a = c.receive(1);
    EXPECT_EQ(a.body, "PUT/A");
    EXPECT_TRUE(a.has("x-answer: of me"));
    EXPECT_EQ(a.head.find("connection"), std::string::npos);
}

WEFT_SIM_TEST_WITH(Http2, StreamsBodiesAndTrailersBothWays, some_schedules()) {
    const served s([](http::server& to) {
        to.handle("POST /", [](request& r, response& w) {
            EXPECT_FALSE(r.content_length());
            std::array<char, 3> part{};
            while (const std::size_t n = r.read_some(part)) {
                w.write(std::string_view(part.data(), n));
                w.flush();
            }
            w.trailer("X-Sum", r.trailers().get("x-sum"));
        });
    });
    h2_client c(s);
    c.ask(1, "POST", "/", {}, false);
    c.data(1, "hello", false);
    c.until([&] { return c.streams[1].body == "hello"; });  // before the body has ended
    c.data(1, " world", false);
    c.send(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1, h2_client::block({{"x-sum", "11"}}));
    const h2_stream& a = c.receive(1);
    EXPECT_EQ(a.body, "hello world");
    EXPECT_EQ(a.trailers, "\nx-sum: 11\n");
    EXPECT_FALSE(a.reset);
}

WEFT_SIM_TEST_WITH(Http2, RefusesTrailersAboutTheConnection, some_schedules()) {
    const served s([](http::server& to) {
        to.handle("GET /", [](request&, response& w) {
            for (const char* name : {"Connection", "keep-alive", "Upgrade", "Content-Length", "Host"})
                EXPECT_THROW(w.trailer(name, "x"), std::invalid_argument) << name;
        });
    });
    EXPECT_EQ(h2_client(s).get(1, "/").status, 200U);
}

WEFT_SIM_TEST_WITH(Http2, SendsLargeHeadersAndTrailers, some_schedules()) {
    constexpr std::size_t too_large = 1'100'000;
    served s([](http::server& to) {
        to.handle("GET /large", [](request&, response& w) {
            for (int i = 0; i < 4; ++i) {
                w.add("X-Header", std::string(50'000, 'x'));
                w.trailer("X-Trailer", std::string(50'000, 'x'));
            }
            w.send("x");
        });
        to.handle("GET /header", [](request&, response& w) { w.set("X", std::string(too_large, 'x')).send("x"); });
        to.handle("GET /begun", [](request&, response& w) {
            w.set("X", std::string(too_large, 'x')).write("x");
            w.flush();
        });
        to.handle("GET /trailer", [](request&, response& w) {
            w.trailer("X", std::string(too_large, 'x'));
            w.send("x");
        });
    });
    h2_client c(s);
    const h2_stream& a = c.get(1, "/large");
    EXPECT_EQ(a.body, "x");
    EXPECT_GT(a.head.size(), 200'000U);
    EXPECT_GT(a.trailers.size(), 200'000U);
    uint32_t id = 3;
    for (const char* path : {"/header", "/begun", "/trailer"}) {
        EXPECT_EQ(c.get(id, path).reset, uint32_t{NGHTTP2_INTERNAL_ERROR}) << path;
        EXPECT_NE(s.reported.find("GET " + std::string(path) + ": weft: "), std::string::npos) << s.reported;
        id += 2;
    }
    EXPECT_EQ(c.get(id, "/large").status, 200U);
}

// The end comes in a frame of its own.
WEFT_SIM_TEST_WITH(Http2, WaitsForTheEndOfAnEmptyBody, some_schedules()) {
    const served s([](http::server& to) {
        to.handle("POST /read", [](request& r, response& w) {
            const std::string body = r.body();
            w.send(body + "sum " + std::string(r.trailers().get("x-sum")));
        });
        to.handle("POST /ignore", [](request&, response& w) { w.send("done"); });
    });
    h2_client c(s);
    uint32_t id = 1;
    for (const char* path : {"/read", "/ignore"}) {
        c.ask(id, "POST", path, {{"content-length", "0"}, {"content-encoding", "gzip"}}, false);
        sleep_for(100ms);
        c.send(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, id,
               h2_client::block({{"x-sum", "11"}}));
        sleep_for(1s);
        EXPECT_EQ(c.receive(id).body, id == 1 ? "sum 11" : "done");
        EXPECT_EQ(c.get(id + 2, "/none").status, 404U);
        EXPECT_FALSE(c.streams[id].reset) << path;
        id += 4;
    }
}

WEFT_SIM_TEST_WITH(Http2, SendsContinueOnlyIfTheBodyIsRead, some_schedules()) {
    const served s([](http::server& to) {
        to.handle("POST /read", [](request& r, response& w) { w.send(r.body()); });
        to.handle("POST /refuse", [](request&, response&) { throw http::failure(403, "no"); });
    });
    h2_client c(s);
    c.ask(1, "POST", "/read", {{"expect", "100-continue"}}, false);
    c.until([&] { return c.streams[1].status == 100; });
    c.data(1, "ab", true);
    EXPECT_EQ(c.receive(1).body, "ab");
    EXPECT_EQ(c.streams[1].status, 200U);
    c.ask(3, "POST", "/refuse", {{"expect", "100-continue"}}, false);
    const h2_stream& a = c.receive(3);
    EXPECT_EQ(a.status, 403U);
    EXPECT_TRUE(a.info.empty());
    c.ask(5, "GET", "/", {{"expect", "tea"}});
    EXPECT_EQ(c.receive(5).status, 417U);
}

WEFT_SIM_TEST_WITH(Http2, SendsNoBodyToHead, some_schedules()) {
    const served s([](http::server& to) {
        to.handle("GET /short", [](request&, response& w) { w.send("12345"); });
        to.handle("GET /long", [](request&, response& w) {
            for (int i = 0; i < 10; ++i) w.write(std::string(10'000, 'x'));
        });
        to.handle("GET /none", [](request&, response& w) { w.status(204).write("dropped"); });
        to.handle("GET /empty", [](request&, response&) {});
    });
    h2_client c(s);
    c.ask(1, "HEAD", "/short");
    EXPECT_TRUE(c.receive(1).has("content-length: 5"));
    c.ask(3, "HEAD", "/long");
    EXPECT_EQ(c.receive(3).status, 200U);
    EXPECT_EQ(c.get(5, "/none").status, 204U);
    EXPECT_TRUE(c.get(7, "/empty").has("content-length: 0"));
    for (const auto& [id, stream] : c.streams) EXPECT_EQ(stream.body, "") << id;
}

WEFT_SIM_TEST_WITH(Http2, EnlargesTheWindowOnlyAsTheHandlerReads, some_schedules()) {
    constexpr std::size_t window = 65535;
    event reads;
    const served s([&](http::server& to) {
        to.handle("POST /", [&](request& r, response& w) {
            reads.wait();
            w.send(std::to_string(r.body().size()));
        });
        to.handle("GET /", [](request&, response& w) { w.send("x"); });
    });
    h2_client c(s);
    c.ask(1, "POST", "/", {}, false);
    c.data(1, std::string(window, 'x'), false);
    EXPECT_EQ(c.get(3, "/").body, "x") << "the connection's window is larger";
    EXPECT_EQ(c.enlarged[1], 0U);
    reads.set();
    c.until([&] { return c.enlarged[1] >= window / 2; });
    c.data(1, std::string(window / 2, 'x'), true);
    EXPECT_EQ(c.receive(1).body, std::to_string(window + window / 2));
}

WEFT_SIM_TEST_WITH(Http2, WaitsForTheWindowOfTheClient, some_schedules()) {
    std::size_t written = 0;
    const served s([&](http::server& to) {
        to.handle("GET /long", [&](request&, response& w) {
            for (; written < 10; ++written) {
                w.write(std::string(10, 'x'));
                w.flush();
            }
        });
        to.handle("GET /short", [](request&, response& w) { w.send("short"); });
    });
    h2_client c(s, {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 25}});
    c.has_window = false;
    c.ask(1, "GET", "/long");
    c.until([&] { return c.streams[1].body.size() == 25; });
    EXPECT_EQ(c.get(3, "/short").body, "short") << "another stream has a window of its own";
    sleep_for(10s);
    EXPECT_EQ(written, 2U);
    c.enlarge(1, 10);
    c.until([&] { return c.streams[1].body.size() == 35; });
    c.enlarge(1, 1000);
    EXPECT_EQ(c.receive(1).body.size(), 100U);
}

WEFT_SIM_TEST_WITH(Http2, AnswersForHandlersThatThrow, some_schedules()) {
    served s([](http::server& to) {
        to.handle("GET /before", [](request&, response& w) {
            w.write("dropped");
            throw std::runtime_error("before");
        });
        to.handle("GET /after", [](request&, response& w) {
            w.write("begun");
            w.flush();
            throw std::runtime_error("after");
        });
        to.handle("GET /failure", [](request&, response&) { throw http::failure(409, "no"); });
        to.handle("GET /less", [](request&, response& w) {
            w.set("Content-Length", "9").write("begun");
            w.flush();
        });
        to.handle("GET /more", [](request&, response& w) { w.set("Content-Length", "1").write("begun"); });
    });
    h2_client c(s);
    EXPECT_EQ(c.get(1, "/before").status, 500U);
    EXPECT_EQ(c.get(3, "/after").reset, uint32_t{NGHTTP2_INTERNAL_ERROR});
    EXPECT_EQ(c.streams[3].body, "begun");
    EXPECT_EQ(c.get(5, "/failure").body, "409 Conflict: no\n");
    EXPECT_EQ(c.get(7, "/less").reset, uint32_t{NGHTTP2_INTERNAL_ERROR});
    EXPECT_EQ(c.get(9, "/more").status, 500U);
    EXPECT_EQ(c.get(11, "/none").status, 404U);
    EXPECT_EQ(s.server().stats().requests, 6U);
    for (const char* what : {"before", "after", "to 9, and wrote 5", "to 1, and wrote 5"})
        EXPECT_NE(s.reported.find(what), std::string::npos) << s.reported;
}

WEFT_SIM_TEST_WITH(Http2, SkipsTheBeginOfABodyThatNoHandlerReads, some_schedules()) {
    const served s([](http::server& to) { to.handle("POST /", [](request&, response& w) { w.send("done"); }); });
    h2_client c(s);
    c.ask(1, "POST", "/", {}, false);
    c.until([&] { return c.streams[1].has_ended; });
    c.data(1, "short", true);
    EXPECT_EQ(c.streams[1].body, "done");
    c.ask(3, "POST", "/", {}, false);  // and never sends it
    c.until([&] { return c.streams[3].reset.has_value(); });
    EXPECT_EQ(c.streams[3].body, "done");
    EXPECT_EQ(c.streams[3].reset, uint32_t{NGHTTP2_NO_ERROR});
    EXPECT_FALSE(c.streams[1].reset);
    for (uint32_t id = 5; id < 45; id += 2) {  // the connection's window is given back
        c.ask(id, "POST", "/", {}, false);
        c.data(id, std::string(60'000, 'x'), true);
        EXPECT_EQ(c.receive(id).body, "done");
    }
}

WEFT_SIM_TEST_WITH(Http2, CompressesAndServesParts, some_schedules()) {
    const served s([](http::server& to) {
        to.use(http::compress());
        to.handle("GET /text", [](request&, response& w) {
            w.set("Content-Type", "text/plain");
            for (int i = 0; i < 1000; ++i) w.write("the same line, again and again\n");
        });
        to.handle("GET /content",
                  [](request& r, response& w) { http::serve_content(r, w, "0123456789", {.tag = "\"v1\""}); });
    });
    h2_client c(s);
    c.ask(1, "GET", "/text", {{"accept-encoding", "gzip"}});
    const h2_stream& text = c.receive(1);
    EXPECT_TRUE(text.has("content-encoding: gzip"));
    EXPECT_TRUE(text.body.starts_with("\x1f\x8b"));
    EXPECT_LT(text.body.size(), 1000U);
    c.ask(3, "GET", "/content", {{"range", "bytes=2-4"}});
    EXPECT_EQ(c.receive(3).body, "234");
    EXPECT_EQ(c.streams[3].status, 206U);
    c.ask(5, "GET", "/content", {{"if-none-match", "\"v1\""}});
    EXPECT_EQ(c.receive(5).status, 304U);
}

TEST(Http2, ServesFilesOfAnySize) {
    const std::string program = "/proc/self/exe";
    const served s([&](http::server& to) {
        to.handle("GET /", [&](request& r, response& w) { http::serve_file(r, w, program); });
    });
    h2_client c(s);
    c.ask(1, "HEAD", "/");
    const std::string head = c.receive(1).head;
    const std::size_t at = head.find("content-length: ") + 16;
    const auto size = static_cast<std::size_t>(std::stoul(head.substr(at)));
    EXPECT_EQ(c.get(3, "/").body.size(), size);
    EXPECT_TRUE(
        c.streams[3].body.starts_with("\x7f"
                                      "ELF"));
}

WEFT_SIM_TEST_WITH(Http2, SendsEvents, some_schedules()) {
    const served s([](http::server& to) {
        to.handle("GET /", [](request&, response& w) {
            auto all = w.events();
            all.send("one");
            sleep_for(20s);
            all.send("two");
        });
    });
    h2_client c(s);
    EXPECT_EQ(c.get(1, "/").body.substr(0, 11), "data: one\n\n");
    EXPECT_NE(c.streams[1].body.find("data: two\n\n"), std::string::npos);
    EXPECT_EQ(c.streams[1].body.find(":"), 4U);
}

WEFT_SIM_TEST_WITH(Http2, HasNoWebSockets, some_schedules()) {
    const served s([](http::server& to) {
        to.handle("GET /", [](request&, response& w) { static_cast<void>(w.upgrade_websocket()); });
    });
    h2_client c(s);
    EXPECT_EQ(c.get(1, "/").status, 426U);
    c.ask(3, "GET", "/", {{"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="}, {"sec-websocket-version", "13"}});
    EXPECT_EQ(c.receive(3).status, 426U);
}

WEFT_SIM_TEST_WITH(Http2, LogsEachRequestOnce, some_schedules()) {
    std::string log;
    http::server_options how;
    how.access_log = [&](const http::access_entry& e) {
        ((log += e.request_line) += ' ') += std::to_string(e.status) + ' ' + std::to_string(e.body_bytes) + '\n';
    };
    {
        served s([](http::server& to) { to.handle("/a", [](request&, response& w) { w.send("12345"); }); }, how);
        h2_client c(s);
        c.get(1, "/a");
        c.ask(3, "HEAD", "/a");
        c.receive(3);
        c.get(5, "/b");
    }
    for (const char* line : {"GET /a HTTP/2.0 200 5\n", "HEAD /a HTTP/2.0 200 0\n", "GET /b HTTP/2.0 404 "})
        EXPECT_NE(log.find(line), std::string::npos) << log;
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 3);
}

WEFT_SIM_TEST_WITH(Http2, IsRecognizedByItsPreface, some_schedules()) {
    const served s([](http::server& to) { to.handle("/", [](request& r, response& w) { w.send(r.body()); }); });
    h2_client c(s, false);
    for (const char byte : std::string_view("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")) {
        c.send_bytes(std::string(1, byte));
        sleep_for(10ms);
    }
    c.send(NGHTTP2_SETTINGS, 0, 0);
    EXPECT_EQ(c.get(1, "/").status, 200U);
    raw_client old(s);
    old.send("P");
    sleep_for(1s);
    EXPECT_EQ(old.ask("OST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab").body, "ab");
    EXPECT_EQ(raw_client(s).ask("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n").status, 505U);
}

WEFT_SIM_TEST_WITH(Http2, CanBeSwitchedOff, some_schedules()) {
    http::server_options how;
    how.http2 = false;
    served s([](http::server& to) { to.handle("/", [](request&, response& w) { w.send("x"); }); }, how);
    EXPECT_EQ(raw_client(s).ask("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").status, 505U);
    EXPECT_EQ(s.server().protocols(), std::vector<std::string>{"http/1.1"});
}

}  // namespace
}  // namespace weft::test
