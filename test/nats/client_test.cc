// client_test.cc: messages, requests, what is dropped; JSON.
#include <atomic>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "nats/json.h"
#include "nats/served.h"

namespace weft::test {
namespace {

using nats::client;
using nats::errc;
using nats::message;

using NatsClient = nats_test;
WEFT_SWEEP_OVER(NatsClient, 1U, 4U);

TEST(NatsJson, ValuesAreFoundByTheirKey) {
    using namespace nats::detail;
    const std::string text = R"( { "a" : 12, "b":"x\"y\\z", "c":{"a":[1,{"d":"}"}],"e":-7}, "t":true } )";
    EXPECT_EQ(json_integer(text, "a"), 12);
    EXPECT_EQ(json_text(text, "b"), "x\"y\\z");
    EXPECT_EQ(json_integer(json_value(text, "c").value_or(""), "e"), -7);
    EXPECT_EQ(json_value(text, "t"), "true");
    EXPECT_FALSE(json_value(text, "d")) << "of an inner object";
    EXPECT_EQ(json_quoted("a\"\\\n"), "\"a\\\"\\\\\\u000a\"");
    for (std::size_t i = 0; i < text.size(); ++i) {
        for (const char* key : {"a", "b", "c", "t", "none"}) static_cast<void>(json_value(text.substr(0, i), key));
    }
    for (const char* bad : {"", "x", "{", "{\"", "{\"a\"", "{\"a\":", "[1]", "{]}", "{\"a\"x", "\"", "{\"a\\"}) {
        EXPECT_EQ(json_integer(bad, "a"), 0) << bad;
    }
}

TEST_P(NatsClient, MessagesArriveInOrder) {
    const nats_server s;
    rt().run([&] {
        client c(s.at());
        client other(s.at());
        nats::subscription one = c.subscribe("news.*");
        nats::subscription all = c.subscribe("news.>");
        c.flush();
        const std::string bytes("\0\r\n\xff", 4);
        for (int i = 0; i < 500; ++i) other.publish("news." + std::to_string(i), bytes + std::to_string(i));
        for (int i = 0; i < 500; ++i) {
            EXPECT_EQ(one.next()->data, bytes + std::to_string(i));
            EXPECT_EQ(all.next()->subject, "news." + std::to_string(i));
        }
        one.close();
        EXPECT_FALSE(one.next());
        EXPECT_EQ(one.dropped(), 0U);
    });
}

TEST_P(NatsClient, HeadersTravelWithTheMessage) {
    const nats_server s;
    rt().run([&] {
        client c(s.at());
        const nats::subscription sub = c.subscribe("a");
        c.publish({.subject = "a", .data = "x", .headers = {{"One", "1"}, {"Two", "2"}}});
        const std::optional<message> m = sub.next();
        EXPECT_EQ(m->header("One"), "1");
        EXPECT_EQ(m->header("Two"), "2");
        EXPECT_EQ(m->header("Three"), "");
        EXPECT_EQ(m->data, "x");
    });
}

TEST_P(NatsClient, AQueueGroupSharesItsMessages) {
    const nats_server s;
    rt().run([&] {
        client c(s.at());
        const nats::subscription a = c.subscribe("jobs", {.queue = "workers"});
        const nats::subscription b = c.subscribe("jobs", {.queue = "workers"});
        c.flush();
        for (int i = 0; i < 200; ++i) c.publish("jobs", "x");
        std::size_t received = 0;
        while (received < 200) {
            weft::select(weft::on_recv(a.messages(), [&](const auto&) { ++received; }),
                         weft::on_recv(b.messages(), [&](const auto&) { ++received; }));
        }
        EXPECT_EQ(a.messages().try_recv().status, chan_status::would_block);
    });
}

TEST_P(NatsClient, RequestsAreAnswered) {
    const nats_server s;
    rt().run([&] {
        client c(s.at());
        nats::subscription asked = c.subscribe("double");
        weft::wait_group serving;
        serving.go([&] {
            while (std::optional<message> m = asked.next()) c.respond(*m, m->data + m->data);
        });
        weft::wait_group all;
        std::atomic<int> wrong = 0;
        for (int i = 0; i < 200; ++i) {
            all.go([&, i] {
                const std::string text = std::to_string(i);
                if (c.request("double", text).data != text + text) ++wrong;
            });
        }
        all.wait();
        EXPECT_EQ(wrong, 0);
        EXPECT_EQ(code_of([&] { static_cast<void>(c.request("nothing", "")); }), errc::no_responders);
        EXPECT_THROW(c.respond({.subject = "a"}, "x"), std::invalid_argument);
        asked.close();
        serving.wait();
    });
}

TEST_P(NatsClient, ARequestEndsAfterItsTimeAndWithItsCaller) {
    const nats_server s;
    rt().run([&] {
        nats::client_options how = s.at();
        how.request_time = 50ms;
        client c(how);
        const nats::subscription silent = c.subscribe("silent");
        EXPECT_EQ(code_of([&] { static_cast<void>(c.request("silent", "")); }), errc::request_timed_out);
        client patient(s.at());
        EXPECT_THROW(weft::with_timeout(20ms, [&] { static_cast<void>(patient.request("silent", "")); }),
                     weft::timed_out);
    });
}

TEST_P(NatsClient, WhatFindsNoRoomIsDroppedAndCounted) {
    const nats_server s;
    rt().run([&] {
        client c(s.at());
        nats::subscription slow = c.subscribe("a", {.capacity = 10});
        for (int i = 0; i < 1'000; ++i) c.publish("a", std::to_string(i));
        eventually([&] { return slow.dropped() == 990; });
        for (int i = 0; i < 10; ++i) EXPECT_EQ(slow.next()->data, std::to_string(i));
        c.publish("a", "later");
        EXPECT_EQ(slow.next()->data, "later");
    });
}

TEST_P(NatsClient, WrongArgumentsAreErrors) {
    const nats_server s;
    rt().run([&] {
        client c(s.at());
        EXPECT_EQ(code_of([&] { c.publish("", "x"); }), errc::bad_subject);
        EXPECT_EQ(code_of([&] { c.publish("a", std::string(2'000'000, 'x')); }), errc::too_large);
        EXPECT_THROW(static_cast<void>(c.subscribe("a", {.capacity = 0})), std::invalid_argument);
        EXPECT_THROW(client({.servers = {}}), std::invalid_argument);
        EXPECT_THROW(client({.request_time = 0s}), std::invalid_argument);
    });
}

TEST_P(NatsClient, LogsIn) {
    const nats_server s({"--user", "me", "--pass", "secret"});
    rt().run([&] {
        nats::client_options how = s.at();
        EXPECT_EQ(code_of([&] { const client c(how); }), errc::login_refused);
        how.user = "me";
        how.password = "secret";
        client c(how);
        c.flush();
        EXPECT_TRUE(c.is_connected());
    });
}

}  // namespace
}  // namespace weft::test
