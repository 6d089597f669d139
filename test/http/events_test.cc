// events_test.cc: streams of events, in simulations.
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <weft/http/events.h>

#include "http/served.h"

namespace weft::test {
namespace {

using http::request;
using http::response;

// The bodies of the chunks that a client has received, up to the end of the connection or the last
// chunk.
std::string without_chunks(std::string_view text) {
    std::string all;
    while (!text.empty()) {
        const std::size_t line = text.find("\r\n");
        const std::size_t size = std::stoul(std::string(text.substr(0, line)), nullptr, 16);
        if (size == 0) break;
        all += text.substr(line + 2, size);
        text.remove_prefix(line + 2 + size + 2);
    }
    return all;
}

// Reads until the stream has that text.
std::string until(raw_client& c, std::string_view text) {
    std::string got;
    while (got.find(text) == std::string::npos) {
        const std::string part = c.part();
        if (part.empty()) break;
        got += part;
    }
    return got;
}

WEFT_SIM_TEST_WITH(HttpEvents, AreSentAsTheStandardSays, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("GET /", [](request& r, response& w) {
            auto stream = w.events();
            stream.send(r.header("Last-Event-ID"));
            stream.send("a\nb\r\nc\rd\n", {.event = "news", .id = "7", .retry = 5s});
            stream.comment("still there");
            EXPECT_THROW(stream.send("x", {.event = "a\nb"}), std::invalid_argument);
            EXPECT_THROW(stream.send("x", {.id = std::string_view("\0", 1)}), std::invalid_argument);
            stream.send("");
        });
    });
    raw_client c(s);
    c.send(request_text("GET /", "Last-Event-ID: 6\r\nConnection: close\r\n"));
    const std::string all = c.rest();
    const std::size_t body = all.find("\r\n\r\n") + 4;
    const std::string head = all.substr(0, body);
    for (const char* field : {"Content-Type: text/event-stream", "Cache-Control: no-cache", "X-Accel-Buffering: no"})
        EXPECT_NE(head.find("\r\n" + std::string(field) + "\r\n"), std::string::npos) << head;
    EXPECT_EQ(without_chunks(std::string_view(all).substr(body)),
              "data: 6\n\n"
              "event: news\nid: 7\nretry: 5000\ndata: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"
              ": still there\n\n"
              "data: \n\n");
}

WEFT_SIM_TEST_WITH(HttpEvents, AreNotForHead, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("GET /", [](request&, response& w) { w.events().send("x"); });
        to.handle("GET /wrong", [](request&, response& w) { w.events({.ping_time = 0s}).send("x"); });
    });
    raw_client c(s);
    c.send(request_text("HEAD /"));
    const answer a = c.receive(true);
    EXPECT_EQ(a.status, 405U);
    EXPECT_TRUE(a.has("Allow: GET"));
    EXPECT_EQ(c.ask(request_text("GET /wrong")).status, 500U);
    EXPECT_NE(s.reported.find("ping_time must be more than 0"), std::string::npos) << s.reported;
}

WEFT_SIM_TEST_WITH(HttpEvents, SilenceIsFilledWithComments, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("GET /", [](request&, response& w) {
            auto stream = w.events({.ping_time = 10s});
            sleep_for(25s);  // two comments
            stream.send("x");
            sleep_for(9s);
            stream.send("y");
            sleep_for(11s);
            stream.send("z");
        });
        to.handle("GET /silent", [](request&, response& w) {
            auto stream = w.events({.ping_time = std::chrono::nanoseconds::max()});
            sleep_for(1h);
            stream.send("x");
        });
    });
    const auto events_of = [&](const char* path) {
        raw_client c(s);
        c.stream().set_deadline(std::chrono::steady_clock::now() + 2h);
        c.send(request_text(std::string("GET ") + path, "Connection: close\r\n"));
        const std::string all = c.rest();
        return without_chunks(std::string_view(all).substr(all.find("\r\n\r\n") + 4));
    };
    EXPECT_EQ(events_of("/"), ":\n\n:\n\ndata: x\n\ndata: y\n\n:\n\ndata: z\n\n");
    EXPECT_EQ(events_of("/silent"), "data: x\n\n");
}

WEFT_SIM_TEST_WITH(HttpEvents, EndWhenTheClientGoes, few_schedules()) {
    event ended;
    const served s([&](http::server& to) {
        to.handle("GET /", [&](request&, response& w) {
            try {
                auto stream = w.events();
                stream.send("x");
                sleep_for(24h);
            } catch (const cancelled&) {
                ended.set();
                throw;
            }
        });
    });
    {
        raw_client c(s);
        c.send(request_text("GET /"));
        EXPECT_NE(until(c, "data: x\n\n"), "");
    }
    EXPECT_TRUE(ended.wait_for(1min));
}

// A client that does not read, and does not close.
WEFT_SIM_TEST_WITH(HttpEvents, EndWhenACommentCannotBeSent, few_schedules()) {
    event ended;
    http::server_options how;
    how.write_time = 1s;
    how.cancel_if_client_gone = false;
    const served s(
        [&](http::server& to) {
            to.handle("GET /", [&](request&, response& w) {
                try {
                    auto stream = w.events({.ping_time = 10s});
                    for (;;) {
                        stream.send(std::string(10'000, 'x'));
                        if (w.body_bytes() > 100'000'000) break;
                    }
                } catch (const std::system_error&) {
                    ended.set();
                    throw;
                }
            });
            to.handle("GET /pings", [&](request&, response& w) {
                try {
                    auto stream = w.events({.ping_time = 1s});
                    sleep_for(24h);
                } catch (const cancelled&) {
                    ended.set();
                    throw;
                }
            });
        },
        how);
    {
        raw_client c(s);
        c.send(request_text("GET /"));
        EXPECT_TRUE(ended.wait_for(1h)) << "write() ends by its deadline";
        ended.reset();
    }
    {
        raw_client gone(s);
        gone.send(request_text("GET /pings"));
        EXPECT_NE(until(gone, ":\n\n"), "");
    }
    EXPECT_TRUE(ended.wait_for(1min)) << "the comment fails, and cancels the handler";
}

WEFT_SIM_TEST_WITH(HttpEvents, HandlersAreToldOfTheShutdown, few_schedules()) {
    event begun;
    served s([&](http::server& to) {
        to.handle("GET /", [&](request& r, response& w) {
            EXPECT_FALSE(r.draining().is_set());
            auto stream = w.events();
            stream.send("begun");
            chan<std::string> news;
            begun.set();
            const std::size_t chosen =
                select(on_recv(news, [](const std::optional<std::string>&) {}), on_event(r.draining(), [] {}));
            EXPECT_EQ(chosen, 1U);
            stream.send("goodbye");
        });
    });
    raw_client c(s);
    c.send(request_text("GET /"));
    begun.wait();
    EXPECT_EQ(s.server().shutdown(1min), 0U) << "no connection is cut off";
    EXPECT_TRUE(c.rest().ends_with("data: goodbye\n\n\r\n0\r\n\r\n"));
}

}  // namespace
}  // namespace weft::test
