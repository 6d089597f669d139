// server_test.cc: what handlers see, and what clients get. In simulations: time is virtual.
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/served.h"

namespace weft::test {
namespace {

using http::request;
using http::response;

WEFT_SIM_TEST_WITH(HttpServer, KeepsTheConnectionBetweenRequests, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("GET /users/{id}", [](request& r, response& w) { w.send("user " + std::string(r.param("id"))); });
    });
    raw_client c(s);
    for (int i = 0; i < 3; ++i) {
        const answer a = c.ask(request_text("GET /users/" + std::to_string(i)));
        EXPECT_EQ(a.status, 200U);
        EXPECT_EQ(a.body, "user " + std::to_string(i));
        EXPECT_TRUE(a.has("Content-Type: text/plain; charset=utf-8"));
        EXPECT_FALSE(a.has("Connection: close"));
    }
    EXPECT_TRUE(c.ask(request_text("GET /users/9", "Connection: close\r\n")).has("Connection: close"));
    EXPECT_EQ(c.rest(), "");
}

WEFT_SIM_TEST_WITH(HttpServer, AnswersPipelinedRequestsInOrder, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("POST /{n}", [](request& r, response& w) { w.send(std::string(r.param("n")) + r.body()); });
    });
    raw_client c(s);
    std::string all;
    for (int i = 0; i < 5; ++i) all += request_text("POST /" + std::to_string(i), "Content-Length: 2\r\n", "ab");
    c.send(all);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(c.receive().body, std::to_string(i) + "ab");
}

WEFT_SIM_TEST_WITH(HttpServer, ReadsAndWritesChunksAndTrailers, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("POST /", [](request& r, response& w) {
            EXPECT_EQ(r.content_length().has_value(), r.header("Transfer-Encoding").empty());
            const std::string body = r.body();
            w.write(body);
            w.flush();
            w.write("!");
            w.trailer("X-Sum", std::string(r.trailers().get("x-sum")));
        });
    });
    raw_client c(s);
    const answer a = c.ask(request_text("POST /", "Transfer-Encoding: chunked\r\n",
                                        "5;ext=1\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nX-Sum: 11\r\n\r\n"));
    EXPECT_TRUE(a.has("Transfer-Encoding: chunked"));
    EXPECT_EQ(a.body, "b\r\nhello world\r\n1\r\n!\r\n0\r\nX-Sum: 11\r\n\r\n");
    EXPECT_EQ(c.ask(request_text("POST /", "Content-Length: 1\r\n", "x")).status, 200U);
}

WEFT_SIM_TEST_WITH(HttpServer, SendsContinueOnlyIfTheBodyIsRead, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("POST /read", [](request& r, response& w) { w.send(r.body()); });
        to.handle("POST /refuse", [](request&, response&) { throw http::failure(403, "no"); });
    });
    const char* fields = "Content-Length: 2\r\nExpect: 100-continue\r\n";
    raw_client c(s);
    c.send(request_text("POST /read", fields));
    EXPECT_EQ(c.receive().status, 100U);
    EXPECT_EQ(c.ask("ab").body, "ab");
    const answer a = c.ask(request_text("POST /refuse", fields));
    EXPECT_EQ(a.status, 403U);
    EXPECT_TRUE(a.has("Connection: close"));
}

WEFT_SIM_TEST_WITH(HttpServer, SkipsABodyThatNoHandlerReads, few_schedules()) {
    const served s([](http::server& to) { to.handle("POST /", [](request&, response& w) { w.send("done"); }); });
    raw_client c(s);
    c.send(request_text("POST /", "Content-Length: 5\r\n", "GET /") + request_text("POST /"));
    EXPECT_EQ(c.receive().body, "done");
    EXPECT_EQ(c.receive().body, "done");
    c.send(request_text("POST /", "Content-Length: 1000000\r\n", std::string(1'000'000, 'x')));
    EXPECT_EQ(c.receive().body, "done");
    EXPECT_EQ(c.rest(), "");
}

WEFT_SIM_TEST_WITH(HttpServer, SendsNoBodyToHead, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("GET /short", [](request&, response& w) { w.send("12345"); });
        to.handle("GET /long", [](request&, response& w) {
            for (int i = 0; i < 10; ++i) w.write(std::string(10'000, 'x'));
        });
        to.handle("GET /none", [](request&, response& w) { w.status(204).write("dropped"); });
    });
    raw_client c(s);
    c.send(request_text("HEAD /short") + request_text("HEAD /long") + request_text("GET /none") +
           request_text("GET /short"));
    EXPECT_TRUE(c.receive(true).has("Content-Length: 5"));
    EXPECT_EQ(c.receive(true).status, 200U);
    EXPECT_EQ(c.receive().status, 204U);
    EXPECT_EQ(c.receive().body, "12345");
}

WEFT_SIM_TEST_WITH(HttpServer, SaysWhichMethodsAreAllowed, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("GET /a", [](request&, response& w) { w.send("a"); });
        to.handle("PUT /a", [](request&, response& w) { w.send("a"); });
        to.handle("GET /dir/", [](request&, response& w) { w.send("dir"); });
    });
    raw_client c(s);
    answer a = c.ask(request_text("POST /a"));
    EXPECT_EQ(a.status, 405U);
    EXPECT_TRUE(a.has("Allow: GET, HEAD, PUT"));
    a = c.ask(request_text("OPTIONS /a"));
    EXPECT_EQ(a.status, 204U);
    EXPECT_TRUE(a.has("Allow: GET, HEAD, PUT, OPTIONS"));
    EXPECT_EQ(c.ask(request_text("OPTIONS *")).status, 204U);
    EXPECT_EQ(c.ask(request_text("GET /b")).status, 404U);
    a = c.ask(request_text("GET /dir?x=1"));
    EXPECT_EQ(a.status, 308U);
    EXPECT_TRUE(a.has("Location: /dir/?x=1"));
}

WEFT_SIM_TEST_WITH(HttpServer, RedirectsToTheCleanPath, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("GET /files/{path...}", [](request& r, response& w) { w.send(r.param("path")); });
    });
    raw_client c(s);
    for (const auto& [path, location] : std::vector<std::pair<std::string, std::string>>{
             {"/files//etc/passwd?a=//", "/files/etc/passwd?a=//"},
             {"//files", "/files"},
             {"/files/./%2E/x/.", "/files/x/"},
             {"/./\\host", "/%5Chost"},
         }) {
        for (const char* method : {"GET ", "POST "}) {
            const answer a = c.ask(request_text(method + path));
            EXPECT_EQ(a.status, 308U) << path;
            EXPECT_TRUE(a.has("Location: " + location)) << a.head;
        }
    }
    EXPECT_EQ(c.ask(request_text("GET /files/%2fetc/.x")).body, "/etc/.x") << "a coded slash is one of the name";
}

WEFT_SIM_TEST_WITH(HttpServer, TakesTheHostOfTheTarget, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("GET /", [](request& r, response& w) { w.send(std::string(r.host()) + std::string(r.path())); });
    });
    raw_client c(s);
    EXPECT_EQ(c.ask(request_text("GET http://example.com:80/x")).body, "example.com:80/x");
    EXPECT_EQ(c.ask("GET http://example.com HTTP/1.0\r\n\r\n").body, "example.com/");
}

WEFT_SIM_TEST_WITH(HttpServer, ClosesIfOneTokenSaysSo, few_schedules()) {
    const served s([](http::server& to) { to.handle("/", [](request&, response& w) { w.send("x"); }); });
    raw_client c(s);
    EXPECT_TRUE(c.ask("GET / HTTP/1.0\r\nConnection: close, keep-alive\r\n\r\n").has("Connection: close"));
    EXPECT_EQ(c.rest(), "");
}

WEFT_SIM_TEST_WITH(HttpServer, HasNoLimitIfATimeIsTheLongest, few_schedules()) {
    http::server_options how;
    how.header_time = how.body_time = how.idle_time = how.write_time = std::chrono::nanoseconds::max();
    const served s([](http::server& to) { to.handle("/", [](request& r, response& w) { w.send(r.body()); }); }, how);
    raw_client c(s);
    for (const char* body : {"ab", "cd"}) {
        sleep_for(1s);
        c.send(request_text("POST /", "Content-Length: 2\r\n"));
        sleep_for(1s);
        EXPECT_EQ(c.ask(body).body, body);
    }
}

WEFT_SIM_TEST_WITH(HttpServer, CopiesItsOwnFields, few_schedules()) {
    http::headers h;
    h.add("A", std::string(100, 'x'));
    for (int i = 0; i < 20; ++i) h.add(h.size() % 2 == 0 ? "A" : "B", h.get("A"));
    for (const auto& [name, value] : h) EXPECT_EQ(value, std::string(100, 'x')) << name;
}

WEFT_SIM_TEST_WITH(HttpServer, CountsExtensionsOfChunks, few_schedules()) {
    const served s([](http::server& to) { to.handle("/", [](request& r, response& w) { w.send(r.body()); }); });
    const auto status_of = [&](const std::string& chunk, int count) {
        std::string body;
        for (int i = 0; i < count; ++i) body += chunk;
        return raw_client(s).ask(request_text("POST /", "Transfer-Encoding: chunked\r\n", body + "0\r\n\r\n")).status;
    };
    EXPECT_EQ(status_of("1;" + std::string(1000, 'x') + "\r\nx\r\n", 7), 200U);
    EXPECT_EQ(status_of("1;" + std::string(1000, 'x') + "\r\nx\r\n", 9), 400U);
    EXPECT_EQ(status_of("100;" + std::string(100, 'x') + "\r\n" + std::string(256, 'x') + "\r\n", 200), 200U);
}

TEST(HttpServer, RefusesWhatCouldBeReadInTwoWays) {
    const std::vector<std::pair<std::string, unsigned>> all = {
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 6\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n", 501},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\n\r\n0\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\nX: y\r\n\r\n", 400},
        {"GET / HTTP/1.1\nHost: x\n\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a b/@c\r\n\r\n", 400},
        {"GET http://example.com@x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"\n\n\r\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2;a=\"\nXX\"\r\n12\r\n0\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n12\r\n0;a=\"\x7f\"\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
        {"G\x01T / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nX: a\x01\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5x\r\nhello\r\n0\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n",
         400},
    };
    for (const auto& [text, status] : all) {
        SCOPED_TRACE(text);
        sim::expect_passes({.schedules = 3, .lateness = 0ns}, [&text = text, status = status] {
            const served s([](http::server& to) { to.handle("/", [](request& r, response& w) { w.send(r.body()); }); });
            raw_client c(s);
            c.send(text + request_text("GET /smuggled"));
            const answer a = c.receive();
            EXPECT_EQ(a.status, status);
            EXPECT_TRUE(a.has("Connection: close"));
            EXPECT_EQ(c.rest(), "") << "what follows is no request";
        });
    }
}

WEFT_SIM_TEST_WITH(HttpServer, LimitsHeadersAndBodies, few_schedules()) {
    http::server_options how;
    how.header_max = 1000;
    how.body_max = 10;
    const served s(
        [](http::server& to) {
            to.handle("POST /", [](request& r, response& w) { w.send(r.body()); });
            to.handle("POST /more", [](request& r, response& w) {
                r.set_body_max(20);
                w.send(r.body());
            });
        },
        how);
    const auto status_of = [&](const std::string& text) { return raw_client(s).ask(text).status; };
    EXPECT_EQ(status_of(request_text("POST /", "X: " + std::string(900, 'x') + "\r\n")), 200U);
    EXPECT_EQ(status_of(request_text("POST /", "X: " + std::string(1000, 'x') + "\r\n")), 431U);
    EXPECT_EQ(status_of("POST /" + std::string(5000, 'x')), 431U);
    EXPECT_EQ(status_of(request_text("POST /", "Content-Length: 10\r\n", "0123456789")), 200U);
    EXPECT_EQ(status_of(request_text("POST /", "Content-Length: 11\r\n", "01234567890")), 413U);
    EXPECT_EQ(status_of(request_text("POST /more", "Content-Length: 11\r\n", "01234567890")), 200U);
    const char* chunked = "Transfer-Encoding: chunked\r\n";
    EXPECT_EQ(status_of(request_text("POST /", chunked, "6\r\n012345\r\n5\r\n67890\r\n0\r\n\r\n")), 413U);
    EXPECT_EQ(status_of(request_text("POST /more", chunked, "6\r\n012345\r\n5\r\n67890\r\n0\r\n\r\n")), 200U);
    EXPECT_EQ(status_of(request_text("POST /", chunked, "0\r\nX: " + std::string(9000, 'x') + "\r\n\r\n")), 400U);
    EXPECT_EQ(status_of(request_text("POST /", chunked, "1;" + std::string(9000, 'x') + "\r\n")), 400U);
}

WEFT_SIM_TEST_WITH(HttpServer, RefusesToConfigureWhileItServes, few_schedules()) {
    served s([](http::server& to) { to.handle("/a", [](request&, response&) {}); });
    EXPECT_EQ(raw_client(s).ask(request_text("GET /a")).status, 200U);
    EXPECT_THROW(s.server().handle("/b", [](request&, response&) {}), std::logic_error);
    EXPECT_THROW(s.server().use([](request&, response&, const http::handler&) {}), std::logic_error);
}

WEFT_SIM_TEST_WITH(HttpServer, PutsMiddlewareAroundAllHandlers, few_schedules()) {
    const served s([](http::server& to) {
        to.use([](request& r, response& w, const http::handler& next) {
            next(r, w);
            if (!w.has_begun()) w.set("X-Outer", "status " + std::to_string(w.status()));
        });
        to.use([](request& r, response& w, const http::handler& next) {
            if (r.header("Authorization").empty()) throw http::failure(401);
            w.set("X-Inner", std::string(r.pattern()));
            next(r, w);
        });
        to.handle("GET /a", [](request&, response& w) { w.status(201).send("a"); });
    });
    raw_client c(s);
    answer a = c.ask(request_text("GET /a", "Authorization: x\r\n"));
    EXPECT_TRUE(a.has("X-Outer: status 201") && a.has("X-Inner: GET /a")) << a.head;
    a = c.ask(request_text("GET /b", "Authorization: x\r\n"));
    EXPECT_TRUE(a.has("X-Outer: status 404")) << a.head;
    EXPECT_EQ(c.ask(request_text("GET /a")).status, 401U);
}

WEFT_SIM_TEST_WITH(HttpServer, AnswersExceptionsAndReportsThem, few_schedules()) {
    served s([](http::server& to) {
        to.handle("/failure", [](request&, response& w) {
            w.set("X-Kept", "1").set("Cache-Control", "no-store").set("ETag", "x").write("dropped");
            throw http::failure(404, "no such user");
        });
        to.handle("/bug", [](request&, response&) { throw std::runtime_error("bug"); });
        to.handle("/other", [](request&, response&) { throw 1; });
        to.handle("/late", [](request&, response& w) {
            w.write("begun");
            w.flush();
            throw std::runtime_error("late");
        });
    });
    raw_client c(s);
    const answer a = c.ask(request_text("GET /failure"));
    EXPECT_EQ(a.status, 404U);
    EXPECT_EQ(a.body, "404 Not Found: no such user\n");
    EXPECT_TRUE(a.has("X-Kept: 1") && a.has("Cache-Control: no-store"));
    EXPECT_FALSE(a.has("ETag: x"));
    EXPECT_EQ(c.ask(request_text("GET /bug")).body, "500 Internal Server Error\n");
    EXPECT_EQ(c.ask(request_text("GET /other")).status, 500U);
    c.send(request_text("GET /late"));
    const std::string rest = c.rest();
    EXPECT_TRUE(rest.ends_with("\r\n\r\n5\r\nbegun\r\n")) << "it must not look complete: " << rest;
    EXPECT_EQ(s.reported, " /bug: bug /other: ? /late: late");
}

WEFT_SIM_TEST_WITH(HttpServer, ChecksTheContentLengthOfHandlers, few_schedules()) {
    served s([](http::server& to) {
        to.handle("/right", [](request&, response& w) {
            w.set("Content-Length", "40000");
            for (int i = 0; i < 4; ++i) w.write(std::string(10'000, 'x'));
        });
        to.handle("/whole", [](request&, response& w) { w.set("Content-Length", "9").write("x"); });
        to.handle("/less", [](request&, response& w) {
            w.set("Content-Length", "9").write("x");
            w.flush();
        });
        to.handle("/more", [](request&, response& w) {
            w.set("Content-Length", "1").write("x");
            w.flush();
            w.write("more");
        });
        to.handle("/early", [](request&, response& w) {
            w.set("Content-Length", "1");
            for (int i = 0; i < 2; ++i) EXPECT_THROW(w.write(std::string(20'000, 'x')), std::system_error);
            w.write("x");
        });
        to.handle("/after", [](request&, response& w) {
            w.set("Content-Length", "10").write("x");
            w.flush();
            EXPECT_THROW(w.write(std::string(20'000, 'x')), std::system_error);
            w.write("123456789");
            EXPECT_THROW(w.flush(), std::system_error);
        });
    });
    EXPECT_EQ(raw_client(s).ask(request_text("GET /right")).body.size(), 40'000U);
    EXPECT_EQ(raw_client(s).ask(request_text("GET /whole")).status, 500U);
    EXPECT_EQ(raw_client(s).ask(request_text("GET /less")).body, "x");
    raw_client more(s);
    EXPECT_EQ(more.ask(request_text("GET /more")).body, "x");
    EXPECT_EQ(more.rest(), "");
    EXPECT_EQ(raw_client(s).ask(request_text("GET /early")).status, 500U);
    const answer after = raw_client(s).ask(request_text("GET /after"));
    EXPECT_EQ(after.status, 200U);
    EXPECT_EQ(after.body, "x") << "nothing follows an error";
    EXPECT_NE(s.reported.find("/early: weft: it set Content-Length to 1, and wrote more"), std::string::npos)
        << s.reported;
    EXPECT_NE(s.reported.find("/more: weft: it set Content-Length to 1, and wrote more"), std::string::npos)
        << s.reported;
    EXPECT_NE(s.reported.find("/whole: weft: it set Content-Length to 9"), std::string::npos) << s.reported;
    EXPECT_NE(s.reported.find("/less: weft: it set Content-Length to 9"), std::string::npos) << s.reported;
}

WEFT_SIM_TEST_WITH(HttpServer, StreamsWhatIsFlushed, few_schedules()) {
    event received;
    const served s([&](http::server& to) {
        to.handle("/", [&](request&, response& w) {
            w.write("first");
            w.flush();
            received.wait();  // the client has it before the handler returns
            w.write("second");
            EXPECT_THROW(w.status(404), std::logic_error);
            EXPECT_THROW(w.set("X", "y"), std::logic_error);
        });
    });
    raw_client c(s);
    c.send("GET / HTTP/1.0\r\n\r\n");
    std::string got;
    while (got.find("first") == std::string::npos) got += c.part();
    received.set();
    EXPECT_EQ(c.rest(), "second");
    EXPECT_NE(got.find("Connection: close\r\n"), std::string::npos);
}

WEFT_SIM_TEST_WITH(HttpServer, RefusesFieldsThatWouldSplitTheResponse, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("/", [](request&, response& w) {
            EXPECT_THROW(w.set("X", "a\r\nSet-Cookie: b"), std::invalid_argument);
            EXPECT_THROW(w.set("X: y", "a"), std::invalid_argument);
            EXPECT_THROW(w.set("Transfer-Encoding", "gzip"), std::invalid_argument);
            EXPECT_THROW(w.status(99), std::invalid_argument);
            for (const char* name : {"transfer-encoding", "Content-Length", "Host"})
                EXPECT_THROW(w.trailer(name, "1"), std::invalid_argument);
            w.send("ok");
        });
    });
    EXPECT_EQ(raw_client(s).ask(request_text("GET /")).body, "ok");
}

WEFT_SIM_TEST_WITH(HttpServer, DecodesQueriesAndPaths, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("/{x}", [](request& r, response& w) {
            EXPECT_THROW(static_cast<void>(r.param("y")), std::invalid_argument);
            w.send(std::string(r.path()) + "|" + r.query("a b").value_or("none") + "|" + r.query("c").value_or("none"));
        });
    });
    raw_client c(s);
    EXPECT_EQ(c.ask(request_text("GET /%41?x=1&a+b=%26+1&a+b=2")).body, "/A|& 1|none");
    EXPECT_EQ(c.ask(request_text("GET /x?a%20b&c=%zz")).body, "/x||none");
    EXPECT_EQ(c.ask(request_text("GET /../x")).status, 400U);
}

WEFT_SIM_TEST_WITH(HttpServer, LogsEachRequestOnce, few_schedules()) {
    std::string log;
    http::server_options how;
    how.access_log = [&](const http::access_entry& e) {
        ((log += e.request_line) += ' ') += std::to_string(e.status) + ' ' + std::to_string(e.body_bytes) + '\n';
    };
    {
        served s([](http::server& to) { to.handle("/a", [](request&, response& w) { w.send("12345"); }); }, how);
        raw_client c(s);
        c.send(request_text("GET /a") + request_text("HEAD /a") + "nonsense\r\n\r\n");
        c.rest();
        EXPECT_EQ(s.server().stats().requests, 3U);
        EXPECT_EQ(s.server().stats().responses[2], 2U);
    }
    EXPECT_TRUE(log.starts_with("GET /a HTTP/1.1 200 5\nHEAD /a HTTP/1.1 200 0\nnonsense 400 ")) << log;
}

}  // namespace
}  // namespace weft::test
