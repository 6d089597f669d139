// malformed_test.cc: subjects, headers and names that would change the lines of the protocol, or be
// cut off at a zero byte, are refused before anything is sent; a server that was stopped gets no
// requests in advance.
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include <weft/nats/jetstream.h>

#include "nats/served.h"

namespace weft::test {
namespace {

using nats::client;
using nats::errc;
using nats::message;

using NatsMalformed = nats_test;
WEFT_SWEEP_OVER(NatsMalformed, 1U, 4U);

TEST_P(NatsMalformed, SubjectsThatAreNoWordsAreRefused) {
    const nats_server s;
    rt().run([&] {
        client c(s.at());
        const nats::subscription all = c.subscribe("*");
        c.flush();
        const std::string zero("a\0b", 3);
        for (const std::string& bad :
             {std::string(), std::string("a b"), std::string("a\tb"), std::string("x 1\r\ny\r\nPUB z"), zero,
              std::string("a\r\n"), std::string("a..b"), std::string(".a"), std::string("a.")}) {
            EXPECT_EQ(code_of([&] { c.publish(bad, "data"); }), errc::bad_subject) << bad;
            EXPECT_EQ(code_of([&] { c.publish({.subject = bad, .headers = {{"a", "b"}}}); }), errc::bad_subject) << bad;
            EXPECT_EQ(code_of([&] { static_cast<void>(c.request(bad, "data")); }), errc::bad_subject) << bad;
            EXPECT_EQ(code_of([&] { static_cast<void>(c.subscribe(bad)); }), errc::bad_subject) << bad;
            if (bad.empty()) continue;
            EXPECT_EQ(code_of([&] { c.publish({.subject = "a", .reply = bad}); }), errc::bad_subject) << bad;
            if (bad.find_first_not_of("ab.") == std::string::npos) continue;  // a queue group may have such a name
            EXPECT_EQ(code_of([&] { static_cast<void>(c.subscribe("a", {.queue = bad})); }), errc::bad_subject) << bad;
        }
        c.publish("good", "data");
        EXPECT_EQ(all.next()->subject, "good") << "nothing else was sent";
        EXPECT_TRUE(c.is_connected());
    });
}

TEST_P(NatsMalformed, HeadersWithLineEndsAreRefused) {
    const nats_server s;
    rt().run([&] {
        client c(s.at());
        const nats::subscription all = c.subscribe("a");
        const auto sends = [&](const std::string& name, const std::string& value) {
            c.publish(message{.subject = "a", .data = "x", .headers = {{name, value}}});
        };
        EXPECT_THROW(sends("", "v"), std::invalid_argument);
        EXPECT_THROW(sends("n: v\r\nother", "v"), std::invalid_argument);
        EXPECT_THROW(sends("n:m", "v"), std::invalid_argument);
        EXPECT_THROW(sends("n", "v\r\nother: w"), std::invalid_argument);
        EXPECT_THROW(sends("n", "v\nw"), std::invalid_argument);
        EXPECT_THROW(sends("n", std::string("v\0w", 3)), std::invalid_argument);
        nats::jetstream js(c);
        EXPECT_THROW(js.publish("a", "x", {.id = "1\r\nNats-Expected-Stream: other"}), std::invalid_argument);
        sends("n", "v: w");
        EXPECT_EQ(all.next()->header("n"), "v: w");
    });
}

TEST_P(NatsMalformed, NamesOfJetStreamAreChecked) {
    const nats_server s;
    rt().run([&] {
        nats::jetstream js(client(s.at()));
        const std::string zero("a\0b", 3);
        for (const std::string& bad : {std::string(), std::string("a.b"), std::string("a b"), zero}) {
            EXPECT_THROW(static_cast<void>(js.pull(bad, "c")), std::invalid_argument) << bad;
            EXPECT_THROW(static_cast<void>(js.pull("s", bad)), std::invalid_argument) << bad;
            EXPECT_THROW(js.add_stream({.name = bad}), std::invalid_argument) << bad;
        }
    });
}

// Each request that a stopped server finds when it continues brings a batch. More than the consumer
// has room for would be delivered, dropped, and delivered again only after ack_wait.
TEST_P(NatsMalformed, AStoppedServerIsNotAskedInAdvance) {
    const nats_server s;
    rt().run([&] {
        nats::client_options how = s.at();
        how.request_time = 100ms;
        client c(how);
        nats::jetstream js(client(s.at()));
        js.add_stream({.name = "JOBS", .subjects = {"jobs"}, .in_memory = true});
        js.add_consumer("JOBS", {.name = "workers", .ack_pending_max = 10'000});
        nats::pull_consumer jobs = nats::jetstream(c).pull("JOBS", "workers", 4);
        const nats::subscription seen = c.subscribe("$JS.API.CONSUMER.MSG.NEXT.>");
        auto first = weft::async([&] { return jobs.next(); });
        ASSERT_TRUE(seen.next());
        s.stop();
        weft::sleep_for(6s);  // four times silence_max of pull_consumer.cc
        s.go_on();
        js.publish("jobs", "first");
        EXPECT_EQ(first.get().data(), "first");
        std::size_t requests = 0;
        c.flush();
        while (seen.messages().try_recv().value) ++requests;
        EXPECT_LE(requests, 2U);
    });
}

}  // namespace
}  // namespace weft::test
