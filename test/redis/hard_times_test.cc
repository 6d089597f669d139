// hard_times_test.cc: servers that are down, killed, slow, silent or faulty; callers that are
// interrupted.
#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/net/resolve.h>
#include <weft/net/tcp.h>
#include <weft/redis/subscription.h>

#include "redis/served.h"

namespace weft::test {
namespace {

using redis::client;
using redis::errc;

using RedisHardTimes = redis_test;
WEFT_SWEEP_OVER(RedisHardTimes, 1U, 4U);

TEST_P(RedisHardTimes, NoServer) {
    rt().run([] {
        const held_port port;
        const auto ping = [](const std::string& address) {
            return code_of([&] { client({.address = address, .connect_time = 5s}).call("PING"); });
        };
        EXPECT_EQ(ping("127.0.0.1:" + std::to_string(port.port())), errc::could_not_connect);
        EXPECT_EQ(ping("/nowhere/at.all"), errc::could_not_connect);
        EXPECT_EQ(ping("nonsense"), errc::could_not_connect);
        EXPECT_EQ(ping("127.0.0.1:" + std::to_string(port.port())), std::errc::connection_refused);
    });
}

TEST_P(RedisHardTimes, AKilledServerFailsTheCommandsInProgressAndLaterOnesConnectAgain) {
    redis_server s(durable());
    rt().run([&] {
        client c(s.at());
        c.call({"SET", "kept", "yes"});
        auto waiting = weft::async([&] { return code_of([&] { c.call({"BLPOP", "empty", 0}); }); });
        eventually(
            [&] { return c.call<std::string>({"INFO", "clients"}).find("blocked_clients:1") != std::string::npos; });
        s.kill();
        EXPECT_EQ(waiting.get(), errc::connection_lost);
        EXPECT_EQ(code_of([&] { c.call("PING"); }), errc::could_not_connect);
        s.start();
        EXPECT_EQ(c.call<std::string>({"GET", "kept"}), "yes");
    });
}

// Every increment that was confirmed is in the counter; one whose connection was lost may be.
TEST_P(RedisHardTimes, UnderLoadNothingThatWasConfirmedIsLost) {
    redis_server s(durable());
    rt().run([&] {
        client c(s.at());
        std::atomic<long> confirmed = 0;
        std::atomic<long> unknown = 0;
        std::atomic<bool> end = false;
        weft::wait_group all;
        for (int i = 0; i < 20; ++i) {
            all.go([&] {
                while (!end) {
                    const std::error_code ec = code_of([&] {
                        c.call({"INCR", "n"});
                        ++confirmed;
                    });
                    if (!ec) continue;
                    if (ec != errc::could_not_connect) ++unknown;
                    weft::sleep_for(1ms);
                }
            });
        }
        for (int restarts = 0; restarts < 2; ++restarts) {
            const long before = confirmed;
            eventually([&] { return confirmed > before + 200; });
            s.kill();
            s.start();
        }
        const long before = confirmed;
        eventually([&] { return confirmed > before + 200; });
        end = true;
        all.wait();
        const long n = c.call<long>({"GET", "n"});
        EXPECT_GE(n, confirmed);
        EXPECT_LE(n, confirmed + unknown);
    });
}

TEST_P(RedisHardTimes, AStoppedServerIsNoticedAfterReplyTime) {
    const redis_server s;
    rt().run([&] {
        client c({.address = s.address(), .connect_time = 100ms, .reply_time = 100ms});
        c.call("PING");
        s.stop();
        EXPECT_EQ(code_of([&] { c.call("PING"); }), errc::reply_timed_out);
        EXPECT_EQ(c.stats().connections, 0U) << "the connection is closed";
        // The system accepts connections for it. A client that must log in notices.
        EXPECT_EQ(code_of([&] { client({.address = s.address(), .name = "x", .connect_time = 50ms}).call("PING"); }),
                  errc::connect_timed_out);
        EXPECT_EQ(code_of([&] { c.call("PING"); }), std::errc::timed_out);
        s.go_on();
        eventually([&] { return !code_of([&] { c.call("PING"); }); });
    });
}

TEST_P(RedisHardTimes, ALateReplyReachesNoOtherCaller) {
    const redis_server s;
    rt().run([&] {
        client c({.address = s.address(), .connections_max = 2});
        std::atomic<int> wrong = 0;
        std::atomic<int> late = 0;
        weft::wait_group all;
        for (int i = 0; i < 10; ++i) {
            all.go([&, i] {
                for (int round = 0; round < 40; ++round) {
                    const std::string text = std::to_string(i) + ":" + std::to_string(round);
                    try {
                        weft::with_timeout(20ms, [&] {
                            if (c.call<std::string>({"ECHO", text}) != text) ++wrong;
                        });
                    } catch (const weft::timed_out&) {
                        ++late;
                    }
                }
            });
        }
        for (int i = 0; i < 3; ++i) {
            s.stop();
            weft::sleep_for(40ms);
            s.go_on();
            weft::sleep_for(10ms);
        }
        all.wait();
        EXPECT_EQ(wrong, 0);
        EXPECT_GT(late, 0);
    });
}

TEST_P(RedisHardTimes, AnInterruptionClosesTheConnectionOfItsCommandOnly) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        EXPECT_THROW(weft::with_timeout(20ms, [&] { c.call({"BLPOP", "empty", 0}); }), weft::timed_out);
        EXPECT_EQ(c.stats().connections, 0U);
        auto waiting = weft::async([&] { c.call({"BLPOP", "empty", 0}); });
        eventually(
            [&] { return c.call<std::string>({"INFO", "clients"}).find("blocked_clients:1") != std::string::npos; });
        waiting.cancel();
        EXPECT_THROW(waiting.get(), weft::cancelled);
        EXPECT_EQ(c.stats().connections, 1U);
        eventually(
            [&] { return c.call<std::string>({"INFO", "clients"}).find("blocked_clients:0") != std::string::npos; });
    });
}

TEST_P(RedisHardTimes, WaitingForAConnectionIsInterruptedToo) {
    const redis_server s;
    rt().run([&] {
        client c({.address = s.address(), .connections_max = 1});
        const redis::session held = c.open();
        EXPECT_THROW(weft::with_timeout(10ms, [&] { c.call("PING"); }), weft::timed_out);
    });
}

TEST_P(RedisHardTimes, ConnectionsThatTheServerHasClosedAreNotUsed) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        client other(s.at());
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(c.call<std::string>("PING"), "PONG");
            other.open().call({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
            eventually([&] {
                return other.open().call<std::string>({"CLIENT", "LIST"}).find("cmd=ping") == std::string::npos;
            });
        }
    });
}

// Accepts one connection, waits for a command, and writes that.
void serve_once(net::tcp_listener& at, std::string_view pieces, bool stay) {
    net::tcp_stream s = at.accept();
    std::string in(100, ' ');
    static_cast<void>(s.read_some(net::mutable_buffer(in.data(), in.size())));
    std::error_code ec;  // the client may close as soon as it has seen what is wrong
    for (const char byte : pieces) s.write_all(std::string_view(&byte, 1), ec);
    if (stay) static_cast<void>(s.read_some(net::mutable_buffer(in.data(), in.size()), ec));
}

TEST_P(RedisHardTimes, FaultyServers) {
    rt().run([] {
        const auto ask = [](std::string_view pieces, bool stay = false) {
            net::tcp_listener at("127.0.0.1:0");
            weft::wait_group serving;
            serving.go([&] { serve_once(at, pieces, stay); });
            const std::error_code ec = code_of([&] {
                client c({.address = at.local_endpoint().to_string(), .reply_time = stay ? 50ms : 10s});
                EXPECT_EQ(c.call<std::string>("PING"), "hello world");
            });
            serving.wait();
            return ec;
        };
        EXPECT_EQ(ask("$11\r\nhello world\r\n"), std::error_code()) << "in pieces";
        EXPECT_EQ(ask(""), errc::connection_lost);
        EXPECT_EQ(ask("*3\r\n$3\r\nabc\r\n$10\r\nab"), errc::connection_lost);
        EXPECT_EQ(ask("HTTP/1.1 400 Bad Request\r\n\r\n"), errc::bad_reply);
        EXPECT_EQ(ask("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"), errc::bad_reply);
        EXPECT_EQ(ask("*2147483647\r\n", true), errc::reply_timed_out) << "the announced size allocates nothing";
        EXPECT_EQ(ask("+", true), errc::reply_timed_out);
    });
}

// A scripted server answers a command with two replies.
TEST_P(RedisHardTimes, ASessionTakesNoReplyThatNoCommandAskedFor) {
    rt().run([] {
        net::tcp_listener l("127.0.0.1:0");
        client c({.address = l.local_endpoint().to_string(), .reply_time = 5s});
        weft::wait_group serving;
        weft::event over;
        serving.go([&] {
            net::tcp_stream s = l.accept();
            char bytes[256];
            std::error_code ec;
            static_cast<void>(s.read_some(net::mutable_buffer(bytes, sizeof bytes), ec));
            constexpr std::string_view replies = "+first\r\n+stray\r\n";
            s.write_all(net::const_buffer(replies.data(), replies.size()), ec);
            over.wait();  // the client must not see that the connection ends
        });
        redis::session on = c.open();
        EXPECT_EQ(on.call("PING").text(), "first");
        EXPECT_EQ(code_of([&] { on.call("PING"); }), errc::connection_lost);
        over.set();
        serving.wait();
    });
}

}  // namespace
}  // namespace weft::test
