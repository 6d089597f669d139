// consumer_test.cc: streams with consumer groups: nothing that is not acknowledged is lost.
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

#include <weft/redis/consumer.h>

#include "redis/served.h"

namespace weft::test {
namespace {

using redis::client;
using redis::consumer;
using redis::entry;

using RedisConsumer = redis_test;
WEFT_SWEEP_OVER(RedisConsumer, 1U, 4U);

redis::consumer_options jobs(const std::string& name) { return {.stream = "jobs", .group = "workers", .name = name}; }

void add(client& c, int from, int to) {
    for (int i = from; i < to; ++i) c.call({"XADD", "jobs", "*", "n", i});
}

TEST_P(RedisConsumer, ReceivesAndAcknowledges) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        add(c, 0, 100);
        consumer w(c, jobs("one"));
        for (int i = 0; i < 100; ++i) {
            const entry e = w.next();
            EXPECT_EQ(e.field("n"), std::to_string(i));
            EXPECT_EQ(e.field("none"), "");
            EXPECT_EQ(e.deliveries, 1U);
            EXPECT_EQ(w.ack(e), 1U);
            EXPECT_EQ(w.ack(e), 0U) << "it is acknowledged already";
        }
        auto later = weft::async([&] { return w.next(); });
        add(c, 100, 101);
        EXPECT_EQ(later.get().field("n"), "100");
        EXPECT_EQ(c.call({"XPENDING", "jobs", "workers"})[0].integer(), 1);
    });
}

TEST_P(RedisConsumer, OptionsAreChecked) {
    rt().run([] {
        client c({.reply_time = 1s});
        EXPECT_THROW(consumer(c, {}), std::invalid_argument);
        EXPECT_THROW(consumer(c, {.stream = "s", .group = "g"}), std::invalid_argument);
        EXPECT_THROW(consumer(c, jobs("a")), std::invalid_argument) << "block_time is above reply_time";
    });
}

TEST_P(RedisConsumer, WhatACrashedConsumerHeldGoesToAnother) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        add(c, 0, 10);
        {
            consumer crashed(c, jobs("crashed"));
            static_cast<void>(crashed.next());  // has fetched all ten
        }
        redis::consumer_options how = jobs("other");
        how.idle_time = 50ms;
        consumer other(c, how);
        std::set<std::string> seen;
        while (seen.size() < 10) {
            const entry e = other.next();
            EXPECT_EQ(e.deliveries, 2U);
            seen.emplace(e.field("n"));
            other.ack(e);
        }
        EXPECT_EQ(c.call({"XPENDING", "jobs", "workers"})[0].integer(), 0);
    });
}

TEST_P(RedisConsumer, AConsumerThatRestartsGetsItsOwnEntriesAgain) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        add(c, 0, 40);
        {
            consumer before(c, jobs("one"));
            for (int i = 0; i < 20; ++i) static_cast<void>(before.next());
        }
        c.call({"XDEL", "jobs", c.call({"XRANGE", "jobs", "-", "+", "COUNT", 1})[0][0].text()});
        consumer after(c, jobs("one"));
        for (int i = 1; i < 40; ++i) {  // an entry that was deleted is left out
            const entry e = after.next();
            EXPECT_EQ(e.field("n"), std::to_string(i));
            EXPECT_EQ(e.deliveries, i < 32 ? 2U : 1U);
            after.ack(e);
        }
        EXPECT_EQ(c.call({"XPENDING", "jobs", "workers"})[0].integer(), 0);
    });
}

TEST_P(RedisConsumer, AnEntryThatIsHeldIsNotReturnedAgainBeforeItsTime) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        add(c, 0, 1);
        redis::consumer_options how = jobs("one");
        how.idle_time = 300ms;
        how.block_time = 20ms;
        consumer w(c, how);
        const entry first = w.next();
        EXPECT_THROW(weft::with_timeout(60ms, [&] { static_cast<void>(w.next()); }), weft::timed_out);
        const entry again = w.next();  // after idle_time: the work counts as failed
        EXPECT_EQ(again.id, first.id);
        EXPECT_EQ(w.ack(again), 1U);
    });
}

// Workers handle entries, while the server is killed and restarted, and is stopped for a while.
// Each entry that was confirmed to the producer is handled at least once.
TEST_P(RedisConsumer, NothingIsLostWhenTheServerIsKilled) {
    constexpr int count = 600;
    redis_server s(durable());
    rt().run([&] {
        client c({.address = s.address(), .reply_time = 1s});
        std::map<std::string, int> handled;
        std::atomic<std::size_t> different = 0;
        weft::mutex lock;
        weft::scope([&](weft::task_scope& workers) {
            for (int i = 0; i < 3; ++i) {
                workers.go([&, i] {
                    redis::consumer_options how = jobs("worker" + std::to_string(i));
                    how.idle_time = 500ms;
                    how.block_time = 50ms;
                    consumer w(c, how);
                    while (different < count) {
                        entry e;
                        try {
                            e = weft::with_timeout(200ms, [&] { return w.next(); });
                        } catch (const weft::timed_out&) {
                            continue;
                        }
                        {
                            const std::lock_guard<weft::mutex> locked(lock);
                            ++handled[std::string(e.field("n"))];
                            different = handled.size();
                        }
                        w.ack(e);
                    }
                });
            }
            workers.go([&] {
                for (int i = 0; i < count; ++i) {
                    while (code_of([&] { add(c, i, i + 1); })) weft::sleep_for(10ms);
                }
            });
            for (const std::size_t at : {100U, 300U}) {
                eventually([&] { return different > at; });
                s.kill();
                s.start();
            }
            eventually([&] { return different > 500; });
            s.stop();
            weft::sleep_for(100ms);
            s.go_on();
        });
        EXPECT_EQ(handled.size(), static_cast<std::size_t>(count));
    });
}

TEST_P(RedisConsumer, FailsAfterDownTimeMax) {
    rt().run([] {
        const held_port port;
        client c({.address = "127.0.0.1:" + std::to_string(port.port())});
        redis::consumer_options how = jobs("one");
        how.down_time_max = 100ms;
        consumer w(c, how);
        EXPECT_EQ(code_of([&] { static_cast<void>(w.next()); }), redis::errc::could_not_connect);
        EXPECT_EQ(code_of([&] { w.ack_all({"1-1"}); }), redis::errc::could_not_connect);
    });
}

// A server without persistence forgets the group.
TEST_P(RedisConsumer, AGroupThatIsGoneIsMadeAgain) {
    redis_server s;
    rt().run([&] {
        client c(s.at());
        add(c, 0, 1);
        consumer w(c, jobs("one"));
        w.ack(w.next());
        s.kill();
        s.start();
        auto later = weft::async([&] { return w.next(); });
        add(c, 7, 8);
        EXPECT_EQ(later.get().field("n"), "7");
        c.call({"XGROUP", "DESTROY", "jobs", "workers"});
        EXPECT_EQ(w.next().field("n"), "7") << "the new group begins with the oldest entry";
    });
}

}  // namespace
}  // namespace weft::test
