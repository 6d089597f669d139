// tcp_test.cc: TCP connections between green threads.

#include <atomic>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/net/tcp.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/held_port.h"
#include "support/outside_poller.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::endpoint;
using net::tcp_listener;
using net::tcp_stream;

class Tcp : public procs_test {
protected:
    static void SetUpTestSuite() { open_outside_poller(); }
};

WEFT_SWEEP(Tcp);

void echo(tcp_stream& s) {
    char text[4096];
    while (const std::size_t n = s.read_some(text)) s.write_all(net::const_buffer(text, n));
}

TEST_P(Tcp, EchoReturnsTheSentBytes) {
    rt().run([] {
        tcp_listener listener(endpoint::loopback(0));
        go([&] {
            tcp_stream s = listener.accept();
            echo(s);
        });
        tcp_stream s = tcp_stream::connect(listener.local_endpoint());
        for (int i = 0; i < scaled(200); ++i) {
            const std::string sent = "message " + std::to_string(i);
            s.write_all(sent);
            std::string got(sent.size(), ' ');
            ASSERT_EQ(s.read(got), sent.size());
            ASSERT_EQ(got, sent);
        }
        s.shutdown_send();
        char more[1];
        EXPECT_EQ(s.read_some(more), 0U);
        EXPECT_EQ(s.read_some(more), 0U) << "and the end stays the end";
    });
}

TEST_P(Tcp, ManyConnectionsWorkAtOnce) {
    rt().run([] {
        tcp_listener listener(endpoint::loopback(0));
        const int connections = scaled(100);
        wait_group servers;
        wait_group clients;
        servers.go([&] {
            for (int i = 0; i < connections; ++i) {
                servers.go([s = listener.accept()]() mutable { echo(s); });
            }
        });
        std::atomic<int> answers = 0;
        for (int c = 0; c < connections; ++c) {
            clients.go([&, c] {
                tcp_stream s = tcp_stream::connect(listener.local_endpoint());
                for (int i = 0; i < 20; ++i) {
                    const std::string sent = std::to_string(c) + ':' + std::to_string(i);
                    s.write_all(sent);
                    std::string got(sent.size(), ' ');
                    ASSERT_EQ(s.read(got), sent.size());
                    ASSERT_EQ(got, sent);
                    ++answers;
                }
            });
        }
        clients.wait();
        EXPECT_EQ(answers, 20 * connections);
        servers.wait();
    });
}

// More than the system can buffer: both sides have to wait for each other.
TEST_P(Tcp, TransfersMuchDataInBothDirections) {
    rt().run([] {
        tcp_listener listener(endpoint::loopback(0));
        const std::size_t size = std::size_t{8} << 20;
        wait_group all;
        const auto exchange = [&](tcp_stream& s, char seed) {
            wait_group both;
            both.go([&] {
                std::string text(size, ' ');
                for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(seed + static_cast<char>(i % 61));
                s.write_all(text);
                s.shutdown_send();
            });
            std::string got(size + 1, ' ');
            EXPECT_EQ(s.read(got), size);
            const char other = seed == 'a' ? 'b' : 'a';
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < size; ++i)
                wrong += got[i] != static_cast<char>(other + static_cast<char>(i % 61)) ? 1 : 0;
            EXPECT_EQ(wrong, 0U);
            both.wait();
        };
        all.go([&] {
            tcp_stream s = listener.accept();
            exchange(s, 'a');
        });
        tcp_stream s = tcp_stream::connect(listener.local_endpoint());
        exchange(s, 'b');
        all.wait();
    });
}

TEST_P(Tcp, CloseEndsReadsWritesAndAccepts) {
    tcp_listener listener(endpoint::loopback(0));
    tcp_stream client;
    tcp_stream server;
    rt().run([&] {
        client = tcp_stream::connect(listener.local_endpoint());
        server = listener.accept();
    });
    std::atomic<int> closed = 0;
    const auto expect_closed = [&](auto call) {
        std::error_code ec;
        call(ec);
        EXPECT_EQ(ec, errc::closed);
        ++closed;
    };
    const std::string much(std::size_t{64} << 20, 'x');
    park(3, [&] {
        rt().go([&] { expect_closed([&](std::error_code& ec) { static_cast<void>(listener.accept(ec)); }); });
        rt().go([&] {
            char b[1];
            expect_closed([&](std::error_code& ec) { static_cast<void>(client.read_some(b, ec)); });
        });
        rt().go([&] { expect_closed([&](std::error_code& ec) { client.write_all(much, ec); }); });
    });
    listener.close();
    client.close();
    rt().drain();
    EXPECT_EQ(closed, 3);
    EXPECT_FALSE(client.is_open());
    client.close();
}

TEST_P(Tcp, DeadlinesApplyToCurrentWaits) {
    rt().run([&] {
        tcp_listener listener(endpoint::loopback(0));
        tcp_stream s = tcp_stream::connect(listener.local_endpoint());
        std::error_code ec;
        char b[1];
        s.set_read_deadline(std::chrono::steady_clock::now() + 5ms);
        EXPECT_EQ(s.read_some(b, ec), 0U);
        EXPECT_EQ(ec, errc::timed_out);
        s.set_write_deadline(std::chrono::steady_clock::now() - 1s);
        EXPECT_EQ(s.write_all("x", ec), 0U) << "although there is room";
        EXPECT_EQ(ec, errc::timed_out);
        s.clear_deadline();
        wait_group reader;
        reader.go([&] {
            std::error_code why;
            EXPECT_EQ(s.read_some(b, why), 0U);
            EXPECT_EQ(why, errc::timed_out);
        });
        while (stats().waiting == 0) yield();
        s.set_read_deadline(std::chrono::steady_clock::now() - 1s);
        reader.wait();
        s.clear_deadline();
        tcp_stream other = listener.accept();
        other.write_all("y");
        EXPECT_EQ(s.read_some(b), 1U) << "and it goes on working";
        EXPECT_EQ(b[0], 'y');
        EXPECT_THROW(with_timeout(3ms, [&] { static_cast<void>(s.read_some(b)); }), timed_out);
    });
}

TEST_P(Tcp, PlainThreadsMayCall) {
    tcp_listener listener(endpoint::loopback(0));
    std::thread server([&] {
        tcp_stream s = listener.accept();
        echo(s);
    });
    rt().run([&] {
        tcp_stream s = tcp_stream::connect(listener.local_endpoint());
        for (int i = 0; i < 20; ++i) {
            s.write_all("hello");
            char got[5];
            EXPECT_EQ(s.read(got), 5U);
            sleep_for(200us);  // lets the server's thread go idle, most of the time
        }
    });
    server.join();
}

TEST_P(Tcp, ARefusedConnectionReportsIt) {
    rt().run([] {
        const held_port refusing;
        std::error_code ec;
        EXPECT_FALSE(tcp_stream::connect(refusing.at(), ec).is_open());
        EXPECT_EQ(ec, std::errc::connection_refused);
        EXPECT_THROW(static_cast<void>(tcp_stream::connect(refusing.at())), std::system_error);
    });
}

}  // namespace
}  // namespace weft::test
