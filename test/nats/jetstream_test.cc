// jetstream_test.cc: streams, acknowledgements, deliveries that are repeated.
#include <chrono>
#include <stdexcept>
#include <string>

#include <weft/nats/jetstream.h>

#include "nats/served.h"

namespace weft::test {
namespace {

using nats::client;
using nats::delivery;
using nats::errc;
using nats::jetstream;
using nats::pull_consumer;

using NatsJetstream = nats_test;
WEFT_SWEEP_OVER(NatsJetstream, 1U, 4U);

// JetStream's own code of the error that f throws; 0 for none.
template <typename F>
int jetstream_code(F f) {
    try {
        f();
    } catch (const nats::jetstream_error& e) {
        return e.error_code();
    }
    return 0;
}

jetstream with_jobs(client& c, std::chrono::nanoseconds ack_wait = 30s) {
    jetstream js(c);
    js.add_stream({.name = "JOBS", .subjects = {"jobs.*"}, .keeps = nats::retention::work_queue});
    js.add_consumer("JOBS", {.name = "workers", .ack_wait = ack_wait});
    return js;
}

TEST_P(NatsJetstream, MessagesAreStoredAndAcknowledged) {
    const nats_server s;
    rt().run([&] {
        client c(s.at());
        jetstream js = with_jobs(c);
        for (int i = 0; i < 200; ++i)
            EXPECT_EQ(js.publish("jobs.a", std::to_string(i)).sequence, static_cast<uint64_t>(i + 1));
        EXPECT_EQ(js.messages("JOBS"), 200U);
        pull_consumer jobs = js.pull("JOBS", "workers", 16);
        for (int i = 0; i < 200; ++i) {
            const delivery d = jobs.next();
            EXPECT_EQ(d.data(), std::to_string(i));
            EXPECT_EQ(d.subject(), "jobs.a");
            EXPECT_EQ(d.sequence(), static_cast<uint64_t>(i + 1));
            EXPECT_EQ(d.deliveries(), 1U);
            if (i % 2 == 0) {
                jobs.ack(d);
            } else {
                jobs.ack_no_wait(d);
            }
        }
        eventually([&] { return js.messages("JOBS") == 0; });
        auto later = weft::async([&] { return jobs.next(); });
        js.publish("jobs.b", "later");
        EXPECT_EQ(later.get().data(), "later");
    });
}

TEST_P(NatsJetstream, AnIdIsStoredOnce) {
    const nats_server s;
    rt().run([&] {
        client c(s.at());
        jetstream js = with_jobs(c);
        EXPECT_FALSE(js.publish("jobs.a", "x", {.id = "1"}).duplicate);
        const nats::publish_ack again = js.publish("jobs.a", "x", {.id = "1"});
        EXPECT_TRUE(again.duplicate);
        EXPECT_EQ(again.stream, "JOBS");
        EXPECT_EQ(js.messages("JOBS"), 1U);
    });
}

TEST_P(NatsJetstream, MistakesAreErrors) {
    const nats_server s;
    rt().run([&] {
        client c(s.at());
        jetstream js = with_jobs(c);
        js.add_stream({.name = "JOBS", .subjects = {"jobs.*"}, .keeps = nats::retention::work_queue});  // as it is
        EXPECT_EQ(jetstream_code([&] { js.add_stream({.name = "JOBS", .subjects = {"other"}}); }), 10058);
        EXPECT_EQ(jetstream_code([&] { js.add_consumer("NONE", {.name = "x"}); }), 10059);
        EXPECT_EQ(jetstream_code([&] { static_cast<void>(js.messages("NONE")); }), 10059);
        EXPECT_EQ(code_of([&] { js.publish("nowhere", "x"); }), errc::no_responders);
        EXPECT_EQ(jetstream_code([&] { static_cast<void>(js.pull("JOBS", "none").next()); }), 10014);
        EXPECT_THROW(js.add_stream({.name = "a.b"}), std::invalid_argument);
        EXPECT_THROW(js.add_consumer("JOBS", {}), std::invalid_argument);
        EXPECT_THROW(static_cast<void>(js.pull("JOBS", "workers", 0)), std::invalid_argument);
        pull_consumer jobs = js.pull("JOBS", "workers");
        EXPECT_THROW(jobs.ack(delivery({.subject = "a"})), std::invalid_argument);
        auto waiting = weft::async([&] { return jetstream_code([&] { static_cast<void>(jobs.next()); }); });
        weft::sleep_for(50ms);
        js.remove_stream("JOBS");
        EXPECT_NE(waiting.get(), 0);
    });
}

TEST_P(NatsJetstream, WhatIsNotAcknowledgedIsDeliveredAgain) {
    const nats_server s;
    rt().run([&] {
        client c(s.at());
        jetstream js = with_jobs(c, 200ms);
        for (const char* text : {"a", "b", "c"}) js.publish("jobs.a", text);
        {
            pull_consumer crashed = js.pull("JOBS", "workers");
            static_cast<void>(crashed.next());  // it was given all three
        }
        pull_consumer jobs = js.pull("JOBS", "workers");
        for (int i = 0; i < 3; ++i) {
            const delivery d = jobs.next();
            EXPECT_EQ(d.deliveries(), 2U) << d.data();
            jobs.ack(d);
        }
        EXPECT_EQ(js.messages("JOBS"), 0U);
    });
}

TEST_P(NatsJetstream, NakTermAndInProgress) {
    const nats_server s;
    rt().run([&] {
        client c(s.at());
        jetstream js = with_jobs(c, 300ms);
        pull_consumer jobs = js.pull("JOBS", "workers");
        js.publish("jobs.a", "nak");
        jobs.nak(jobs.next());
        delivery d = jobs.next();
        EXPECT_EQ(d.deliveries(), 2U);
        jobs.nak(d, 50ms);
        d = jobs.next();
        EXPECT_EQ(d.deliveries(), 3U);
        jobs.term(d);
        eventually([&] { return js.messages("JOBS") == 0; });
        js.publish("jobs.a", "long");
        d = jobs.next();
        for (int i = 0; i < 6; ++i) {  // twice ack_wait
            weft::sleep_for(100ms);
            jobs.in_progress(d);
        }
        EXPECT_THROW(weft::with_timeout(20ms, [&] { static_cast<void>(jobs.next()); }), weft::timed_out);
        jobs.ack(d);
        EXPECT_EQ(js.messages("JOBS"), 0U);
    });
}

}  // namespace
}  // namespace weft::test
