// subscription_test.cc: published messages, and what a subscriber sees of a server that goes away.
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/redis/subscription.h>

#include "redis/served.h"

namespace weft::test {
namespace {

using redis::client;
using redis::event;
using redis::subscription;

using RedisSubscription = redis_test;
WEFT_SWEEP_OVER(RedisSubscription, 1U, 4U);

// The next event must be of that kind.
event next_of(const subscription& s, event::kind k) {
    std::optional<event> e = s.events().recv();
    if (!e) throw std::runtime_error("the channel is closed");
    if (e->what != k) throw std::runtime_error("another event: " + e->text);
    return std::move(*e);
}

TEST_P(RedisSubscription, ReceivesInOrder) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        subscription news(c, {.channels = {"one", "two"}, .patterns = {"p.*"}});
        next_of(news, event::kind::subscribed);
        for (int i = 0; i < 100; ++i) EXPECT_EQ(c.call<int>({"PUBLISH", i % 2 == 0 ? "one" : "two", i}), 1);
        for (int i = 0; i < 100; ++i) {
            const event e = next_of(news, event::kind::message);
            EXPECT_EQ(e.channel, i % 2 == 0 ? "one" : "two");
            EXPECT_EQ(e.text, std::to_string(i));
        }
        c.call({"PUBLISH", "p.x", "by pattern"});
        EXPECT_EQ(next_of(news, event::kind::message).pattern, "p.*");
        news.close();
        EXPECT_FALSE(news.events().recv());
        eventually([&] { return c.call<int>({"PUBLISH", "one", "to none"}) == 0; });
    });
}

TEST_P(RedisSubscription, SurvivesItsServer) {
    redis_server s;
    rt().run([&] {
        client c(s.at());
        const subscription news(c, {.channels = {"news"}});
        next_of(news, event::kind::subscribed);
        s.kill();
        next_of(news, event::kind::lost);
        s.start();
        for (std::optional<event> e; !e || e->what != event::kind::subscribed;) e = news.events().recv();
        EXPECT_EQ(c.call<int>({"PUBLISH", "news", "again"}), 1);
        EXPECT_EQ(next_of(news, event::kind::message).text, "again");
    });
}

TEST_P(RedisSubscription, NoticesASilentServer) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        const subscription news(c, {.channels = {"news"}, .silence = 50ms});
        next_of(news, event::kind::subscribed);
        weft::sleep_for(200ms);  // it answers several checks
        c.call({"PUBLISH", "news", "x"});
        next_of(news, event::kind::message);
        s.stop();
        next_of(news, event::kind::lost);
        s.go_on();
        for (std::optional<event> e; !e || e->what != event::kind::subscribed;) e = news.events().recv();
    });
}

TEST_P(RedisSubscription, ASlowReceiverDoesNotFillTheMemoryOfTheProgram) {
    const redis_server s({"--save", "", "--client-output-buffer-limit", "pubsub", "1mb", "1mb", "1"});
    rt().run([&] {
        client c(s.at());
        const subscription news(c, {.channels = {"news"}, .capacity = 4});
        next_of(news, event::kind::subscribed);
        const std::string text(10'000, 'x');
        eventually(
            [&] { return c.call<int>({"PUBLISH", "news", text}) == 0; });  // the server has closed the connection
        std::size_t received = 0;
        while (news.events().recv()->what == event::kind::message) ++received;
        EXPECT_GT(received, 4U);
    });
}

TEST_P(RedisSubscription, NeedsAChannel) {
    rt().run([] {
        const client c;
        EXPECT_THROW(subscription(c, {}), std::invalid_argument);
        EXPECT_THROW(subscription(c, {.channels = {"a"}, .silence = 0s}), std::invalid_argument);
    });
}

}  // namespace
}  // namespace weft::test
