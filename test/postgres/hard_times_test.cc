// hard_times_test.cc: servers that are down, killed, slow, silent or faulty; callers that are
// interrupted.
#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/net/tcp.h>
#include <weft/postgres/subscription.h>

#include "postgres/served.h"

namespace weft::test {
namespace {

using postgres::client;
using postgres::errc;
using postgres::event;

using PostgresHardTimes = postgres_test;
WEFT_SWEEP_OVER(PostgresHardTimes, 1U, 4U);

// How many backends execute pg_sleep.
int sleeping(client& c) {
    return c.query("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%'")
        .value<int>();
}

TEST_P(PostgresHardTimes, NoServer) {
    rt().run([] {
        const held_port port;
        const auto connects = [](const std::string& conninfo) {
            return code_of([&] { client({.conninfo = conninfo}).query("SELECT 1"); });
        };
        EXPECT_EQ(connects("host=127.0.0.1 port=" + std::to_string(port.port())), errc::could_not_connect);
        EXPECT_EQ(connects("host=/nowhere"), errc::could_not_connect);
        EXPECT_EQ(connects("host=nowhere.invalid"), errc::could_not_connect);
        EXPECT_EQ(connects("host=/nowhere"), std::errc::connection_refused);
    });
}

TEST_P(PostgresHardTimes, ARefusedLoginIsNoConnection) {
    rt().run([this] {
        EXPECT_EQ(code_of([&] { client({.conninfo = s->conninfo("dbname=none")}).query("SELECT 1"); }),
                  errc::could_not_connect);
        EXPECT_EQ(code_of([&] { client({.conninfo = s->conninfo("user=none")}).query("SELECT 1"); }),
                  errc::could_not_connect);
    });
}

TEST_P(PostgresHardTimes, ADeadlineStopsTheStatementInTheServer) {
    rt().run([this] {
        client c(s->at());
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_THROW(weft::with_timeout(20ms, [&] { c.query("SELECT pg_sleep(1000)"); }), weft::timed_out);
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
        eventually([&] { return sleeping(c) == 0; });
        auto waiting = weft::async([&] { c.query("SELECT pg_sleep(1000)"); });
        eventually([&] { return sleeping(c) == 1; });
        waiting.cancel();
        EXPECT_THROW(waiting.get(), weft::cancelled);
        eventually([&] { return sleeping(c) == 0 && c.stats().idle == c.stats().connections; });
        EXPECT_LE(c.stats().connections, 3U) << "that of sleeping(), and two that were interrupted";
    });
}

TEST_P(PostgresHardTimes, ASessionGoesOnAfterAnInterruption) {
    rt().run([this] {
        client c(s->at());
        postgres::session on = c.open();
        const int pid = on.query("SELECT pg_backend_pid()").value<int>();
        EXPECT_THROW(weft::with_timeout(20ms, [&] { on.query("SELECT pg_sleep(1000)"); }), weft::timed_out);
        EXPECT_EQ(on.query("SELECT pg_backend_pid()").value<int>(), pid);
        EXPECT_THROW(weft::with_timeout(20ms, [&] { on.query_all({"SELECT 1", "SELECT pg_sleep(1000)", "SELECT 2"}); }),
                     weft::timed_out);
        EXPECT_EQ(on.query("SELECT pg_backend_pid()").value<int>(), pid);
    });
}

TEST_P(PostgresHardTimes, ASilentServerHoldsUpNeitherItsCallerNorItsPool) {
    rt().run([this] {
        client c({.conninfo = s->conninfo(), .cancel_time = 100ms, .connections_max = 1});
        client other(s->at());
        const int pid = c.query("SELECT pg_backend_pid()").value<int>();
        ::kill(pid, SIGSTOP);
        EXPECT_THROW(weft::with_timeout(20ms, [&] { c.query("SELECT 1"); }), weft::timed_out);
        EXPECT_NE(c.query("SELECT pg_backend_pid()").value<int>(), pid) << "another connection";
        ::kill(pid, SIGCONT);
        eventually([&] {
            return other.query({"SELECT count(*) FROM pg_stat_activity WHERE pid = $1", pid}).value<int>() == 0;
        });
    });
}

TEST_P(PostgresHardTimes, AConnectionThatTheServerEndsIsLost) {
    rt().run([this] {
        client c(s->at());
        client other(s->at());
        auto waiting = weft::async([&] { return code_of([&] { c.query("SELECT pg_sleep(1000)"); }); });
        eventually([&] { return sleeping(other) == 1; });
        const std::string end =
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = "
            "'owner'";
        other.query(postgres::statement(end));
        EXPECT_EQ(waiting.get(), errc::connection_lost);
        EXPECT_EQ(c.query("SELECT 1").value<int>(), 1);
        other.query(postgres::statement(end));
        EXPECT_EQ(c.query("SELECT 1").value<int>(), 1) << "an idle connection that the server has ended is not used";
    });
}

TEST_P(PostgresHardTimes, AKilledServerFailsWhatIsInProgressAndLaterCallsConnectAgain) {
    rt().run([this] {
        client c(s->at());
        auto waiting = weft::async([&] { return code_of([&] { c.query("SELECT pg_sleep(1000)"); }); });
        client other(s->at());
        eventually([&] { return sleeping(other) == 1; });
        s->kill();
        EXPECT_EQ(waiting.get(), errc::connection_lost);
        eventually([&] { return code_of([&] { c.query("SELECT 1"); }) == errc::could_not_connect; });
        s->start();
        EXPECT_EQ(c.query("SELECT 1").value<int>(), 1);
    });
}

// Every increment that was confirmed is in the table; one whose connection was lost may be.
TEST_P(PostgresHardTimes, UnderLoadNothingThatWasConfirmedIsLost) {
    rt().run([this] {
        client c(s->at());
        c.query("DROP TABLE IF EXISTS events");
        c.query("CREATE TABLE events (n int)");
        std::atomic<int> confirmed = 0;
        std::atomic<int> unknown = 0;
        std::atomic<bool> end = false;
        weft::wait_group all;
        for (int i = 0; i < 10; ++i) {
            all.go([&] {
                while (!end) {
                    const std::error_code ec = code_of([&] {
                        c.query("INSERT INTO events VALUES (1)");
                        ++confirmed;
                    });
                    if (!ec) continue;
                    if (ec != errc::could_not_connect) ++unknown;
                    weft::sleep_for(5ms);
                }
            });
        }
        eventually([&] { return confirmed > 100; });
        s->kill();
        s->start();
        const int before = confirmed;
        eventually([&] { return confirmed > before + 100; });
        end = true;
        all.wait();
        const int n = c.query("SELECT count(*) FROM events").value<int>();
        EXPECT_GE(n, confirmed);
        EXPECT_LE(n, confirmed + unknown);
    });
}

TEST_P(PostgresHardTimes, FaultyServers) {
    rt().run([] {
        const auto ask = [](std::string_view text, bool stay) {
            net::tcp_listener at("127.0.0.1:0");
            weft::wait_group serving;
            serving.go([&] {
                net::tcp_stream peer = at.accept();
                std::string in(100, ' ');
                const net::mutable_buffer into(in.data(), in.size());
                static_cast<void>(peer.read_some(into));
                peer.write_all(text);
                std::error_code ec;
                if (stay) static_cast<void>(peer.read_some(into, ec));
            });
            const std::string port = std::to_string(at.local_endpoint().port());
            const std::error_code ec = code_of([&] {
                client({.conninfo = "host=127.0.0.1 sslmode=disable port=" + port, .connect_time = stay ? 50ms : 10s})
                    .query("SELECT 1");
            });
            serving.wait();
            return ec;
        };
        EXPECT_EQ(ask("", false), errc::could_not_connect);
        EXPECT_EQ(ask("HTTP/1.1 400 Bad Request\r\n\r\n", false), errc::could_not_connect);
        EXPECT_EQ(ask("R", true), errc::connect_timed_out);
    });
}

// ---- Notifications.

// The next event must be of that kind.
event next_of(const postgres::subscription& s, event::kind k) {
    std::optional<event> e = s.events().recv();
    if (!e) throw std::runtime_error("the channel is closed");
    if (e->what != k) throw std::runtime_error("another event: " + e->text);
    return std::move(*e);
}

using PostgresSubscription = postgres_test;
WEFT_SWEEP_OVER(PostgresSubscription, 1U, 4U);

TEST_P(PostgresSubscription, ReceivesInOrder) {
    rt().run([this] {
        client c(s->at());
        postgres::subscription orders(c, {.channels = {"orders", "T\"wo"}});
        next_of(orders, event::kind::listening);
        for (int i = 0; i < 50; ++i)
            c.query({"SELECT pg_notify($1, $2)", i % 2 == 0 ? "orders" : "T\"wo", std::to_string(i)});
        for (int i = 0; i < 50; ++i) {
            const event e = next_of(orders, event::kind::notification);
            EXPECT_EQ(e.channel, i % 2 == 0 ? "orders" : "T\"wo");
            EXPECT_EQ(e.text, std::to_string(i));
        }
        orders.close();
        EXPECT_FALSE(orders.events().recv());
        EXPECT_THROW(postgres::subscription(c, {}), std::invalid_argument);
    });
}

TEST_P(PostgresSubscription, ComesBackAfterTheServerHasEndedIt) {
    rt().run([this] {
        client c(s->at());
        client listens({.conninfo = s->conninfo("application_name=listens")});
        const postgres::subscription orders(listens, {.channels = {"orders"}});
        next_of(orders, event::kind::listening);
        c.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'listens'");
        next_of(orders, event::kind::lost);
        next_of(orders, event::kind::listening);
        c.query("NOTIFY orders, 'again'");
        EXPECT_EQ(next_of(orders, event::kind::notification).text, "again");
    });
}

TEST_P(PostgresSubscription, NoticesASilentServer) {
    rt().run([this] {
        client c(s->at());
        client listens({.conninfo = s->conninfo("application_name=silent")});
        const postgres::subscription orders(listens, {.channels = {"orders"}, .silence = 100ms});
        next_of(orders, event::kind::listening);
        weft::sleep_for(250ms);  // it answers several checks
        const int pid = c.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'silent'").value<int>();
        ::kill(pid, SIGSTOP);
        next_of(orders, event::kind::lost);
        ::kill(pid, SIGCONT);
        next_of(orders, event::kind::listening);
    });
}

}  // namespace
}  // namespace weft::test
