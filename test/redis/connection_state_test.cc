// connection_state_test.cc: a connection in an unusual state reaches no other command and no other
// caller: interrupted commands, replies that no command asked for, commands that change the state.
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/net/tcp.h>
#include <weft/redis/consumer.h>
#include <weft/redis/subscription.h>

#include "redis/served.h"

namespace weft::test {
namespace {

using redis::client;
using redis::errc;

using RedisConnectionState = redis_test;
WEFT_SWEEP_OVER(RedisConnectionState, 1U, 4U);

TEST_P(RedisConnectionState, ASessionIsUnusableAfterAnInterruptedCommand) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        client other(s.at());
        redis::session on = c.open();
        EXPECT_THROW(weft::with_timeout(20ms, [&] { on.call({"BLPOP", "list", 0}); }), weft::timed_out);
        other.call({"RPUSH", "list", "of the first command"});
        EXPECT_EQ(code_of([&] { EXPECT_EQ(on.call<std::string>({"ECHO", "second"}), "second"); }),
                  errc::connection_lost);
        EXPECT_EQ(code_of([&] { on.call_all({{"ECHO", "third"}}); }), errc::connection_lost);
        EXPECT_EQ(code_of([&] { on.watch({"key"}); }), errc::connection_lost);
        EXPECT_EQ(code_of([&] { static_cast<void>(on.transaction({{"ECHO", "fourth"}})); }), errc::connection_lost);
    });
}

TEST_P(RedisConnectionState, ASessionIsUnusableAfterAnInterruptedPipeline) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        redis::session on = c.open();
        EXPECT_THROW(
            weft::with_timeout(20ms, [&] { on.call_all({{"ECHO", "a"}, {"BLPOP", "none", 1}, {"ECHO", "b"}}); }),
            weft::timed_out);
        EXPECT_EQ(code_of([&] { on.call({"ECHO", "c"}); }), errc::connection_lost);
    });
}

TEST_P(RedisConnectionState, AMovedSessionIsALogicError) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        redis::session on = c.open();
        const redis::session moved(std::move(on));
        EXPECT_THROW(on.call("PING"), std::logic_error);
        EXPECT_THROW(on.call_all({"PING"}), std::logic_error);
        EXPECT_THROW(on.watch({"key"}), std::logic_error);
        EXPECT_THROW(static_cast<void>(on.transaction({"PING"})), std::logic_error);
    });
}

TEST_P(RedisConnectionState, CommandsThatChangeTheConnectionAreRefused) {
    rt().run([] {
        client c({.address = "127.0.0.1:1"});
        for (const char* name : {"RESET", "READONLY", "READWRITE", "ASKING", "reset", "REPLCONF"})
            EXPECT_THROW(c.call(name), std::invalid_argument) << name;
        EXPECT_THROW(c.call({"SCRIPT", "DEBUG", "YES"}), std::invalid_argument);
        EXPECT_THROW(c.call({"script", "debug", "yes"}), std::invalid_argument);
        EXPECT_EQ(code_of([&] { c.call({"SCRIPT", "EXISTS", "0"}); }), errc::could_not_connect) << "not refused";
    });
}

TEST_P(RedisConnectionState, ATransactionWhoseMultiIsRefusedKeepsNoWatchedConnection) {
    const redis_server s;
    rt().run([&] {
        client admin(s.at());
        admin.call({"ACL", "SETUSER", "weak", "on", ">word", "~*", "+@all", "-multi"});
        client c({.address = s.address(), .user = "weak", .password = "word"});
        {
            redis::session on = c.open();
            on.watch({"key"});
            EXPECT_THROW(static_cast<void>(on.transaction({{"INCR", "n"}})), redis::server_error);
            EXPECT_THROW(c.transaction({{"INCR", "n"}}), redis::server_error);
        }
        EXPECT_EQ(c.stats().connections, 0U);
        EXPECT_TRUE(admin.call({"GET", "n"}).is_nil()) << "nothing was executed";
    });
}

// Answers each command with the next of the replies, to one client.
void serve(net::tcp_listener& at, const std::vector<std::string>& replies) {
    net::tcp_stream s = at.accept();
    std::error_code ec;
    std::string in(1000, ' ');
    for (const std::string& r : replies) {
        if (s.read_some(net::mutable_buffer(in.data(), in.size()), ec) == 0 || ec) return;
        s.write_all(std::string_view(r), ec);
    }
    static_cast<void>(s.read_some(net::mutable_buffer(in.data(), in.size()), ec));
}

TEST_P(RedisConnectionState, AReplyThatNoCommandAskedForReachesNoCaller) {
    rt().run([] {
        net::tcp_listener at("127.0.0.1:0");
        weft::wait_group serving;
        serving.go([&] {
            serve(at, {"+first\r\n+stray\r\n"});
            serve(at, {"+second\r\n"});
        });
        {
            client c({.address = at.local_endpoint().to_string()});
            EXPECT_EQ(c.call<std::string>("PING"), "first");
            EXPECT_EQ(c.call<std::string>("PING"), "second");
        }
        serving.wait();
    });
}

TEST_P(RedisConnectionState, APartOfAStrayReplyReachesNoCaller) {
    rt().run([] {
        net::tcp_listener at("127.0.0.1:0");
        weft::wait_group serving;
        serving.go([&] {
            serve(at, {"+first\r\n+str"});
            serve(at, {"+second\r\n"});
        });
        {
            client c({.address = at.local_endpoint().to_string()});
            EXPECT_EQ(c.call<std::string>("PING"), "first");
            EXPECT_EQ(c.call<std::string>("PING"), "second");
        }
        serving.wait();
    });
}

// "max number of clients" is the answer to the connection, not to the first command.
TEST_P(RedisConnectionState, AFullServerIsOneThatCouldNotBeConnectedTo) {
    rt().run([] {
        const std::string full = "-ERR max number of clients reached\r\n";
        const auto ask = [&](redis::client_options how) {
            net::tcp_listener at("127.0.0.1:0");
            weft::wait_group serving;
            serving.go([&] { serve(at, {full}); });
            how.address = at.local_endpoint().to_string();
            const std::error_code ec = code_of([&] { client(how).call("PING"); });
            serving.wait();
            return ec;
        };
        EXPECT_EQ(ask({}), errc::could_not_connect);
        EXPECT_EQ(ask({.password = "word"}), errc::could_not_connect);
    });
}

TEST_P(RedisConnectionState, AConsumerWaitsForAFullServer) {
    const redis_server s({"--save", "", "--maxclients", "1"});
    rt().run([&] {
        auto held = std::make_unique<client>(s.at());
        eventually([&] { return !code_of([&] { held->call("PING"); }); });
        redis::consumer jobs(client({.address = s.address(), .name = "x"}),
                             {.stream = "jobs", .group = "g", .name = "n"});
        auto next = weft::async([&] { return jobs.next(); });
        eventually([&] {
            return held->call<std::string>({"INFO", "stats"}).find("rejected_connections:0") == std::string::npos;
        });
        held->call({"XADD", "jobs", "*", "task", 0});
        held.reset();
        EXPECT_EQ(next.get().field("task"), "0");
    });
}

TEST_P(RedisConnectionState, ASubscriptionSurvivesWhatConnectThrows) {
    const redis_server s;
    rt().run([&] {
        int calls = 0;
        redis::client_options how;
        how.connect = [&]() -> std::unique_ptr<redis::transport> {
            if (++calls == 1) throw std::runtime_error("no key");
            return redis::make_transport(net::tcp_stream::connect(*net::endpoint::parse(s.address())));
        };
        const client c(how);
        redis::subscription news(c, {.channels = {"news"}});
        const std::optional<redis::event> lost = news.events().recv();
        ASSERT_TRUE(lost);
        EXPECT_EQ(lost->what, redis::event::kind::lost);
        EXPECT_EQ(lost->text, "no key");
        EXPECT_EQ(news.events().recv()->what, redis::event::kind::subscribed);
    });
}

TEST_P(RedisConnectionState, ASubscriptionOutlivesTheDeadlineAroundItsConstructor) {
    const redis_server s;
    rt().run([&] {
        const client c(s.at());
        auto news = weft::with_timeout(20ms, [&] {
            return std::make_unique<redis::subscription>(c, redis::subscription_options{.channels = {"news"}});
        });
        EXPECT_EQ(news->events().recv()->what, redis::event::kind::subscribed);
        weft::sleep_for(30ms);
        client(s.at()).call({"PUBLISH", "news", "late"});
        EXPECT_EQ(news->events().recv()->text, "late");
    });
}

}  // namespace
}  // namespace weft::test
