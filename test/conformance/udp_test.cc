// udp_test.cc: datagrams over IPv4 and IPv6.

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <weft/net/udp.h>
#include <weft/weft.h>

#include "os/fd_calls.h"
#include "os/sockets.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::endpoint;
using net::udp_socket;

class Udp : public procs_test {
protected:
    udp_socket server_{endpoint::loopback(0)};
    udp_socket client_{endpoint::loopback(0)};

    void TearDown() override {
        server_.close();
        client_.close();
        procs_test::TearDown();
    }
};

WEFT_SWEEP_OVER(Udp, 1U, 4U);

TEST_P(Udp, DatagramsArriveWithTheirSenderAndBoundary) {
    rt().run([&] {
        char text[8];
        client_.send_to("hello", server_.local_endpoint());
        auto got = server_.receive(text);
        EXPECT_EQ(std::string(text, got.size), "hello");
        EXPECT_EQ(got.from, client_.local_endpoint());
        EXPECT_FALSE(got.cut);
        client_.send_to("longer than eight", server_.local_endpoint());
        got = server_.receive(text);
        EXPECT_EQ(std::string(text, got.size), "longer t");
        EXPECT_TRUE(got.cut);
        client_.send_to("", server_.local_endpoint());
        got = server_.receive(text);
        EXPECT_EQ(got.size, 0U);
        EXPECT_EQ(got.from, client_.local_endpoint());
    });
}

TEST_P(Udp, ReceivingWaits) {
    rt().run([&] {
        wait_group all;
        std::atomic<int> sum = 0;
        for (int i = 0; i < 4; ++i) {
            all.go([&] {
                int value = 0;
                EXPECT_EQ(server_.receive({&value, sizeof(value)}).size, sizeof(value));
                sum += value;
            });
        }
        while (rt().stats().waiting < 4) yield();
        for (int i = 1; i <= 4; ++i) client_.send_to({&i, sizeof(i)}, server_.local_endpoint());
        all.wait();
        EXPECT_EQ(sum, 10);
    });
}

TEST_P(Udp, AConnectedSocketReceivesOnlyFromItsPeer) {
    rt().run([&] {
        udp_socket one = udp_socket::connected_to(server_.local_endpoint());
        EXPECT_EQ(one.remote_endpoint(), server_.local_endpoint());
        one.send("x");
        char text[8];
        const auto got = server_.receive(text);
        EXPECT_EQ(got.from, one.local_endpoint());
        client_.send_to("from another", one.local_endpoint());
        server_.send_to("y", got.from);
        EXPECT_EQ(one.receive(text).size, 1U);
        EXPECT_EQ(text[0], 'y');
    });
}

TEST_P(Udp, WithoutAListenerALaterCallReportsTheError) {
    if (runs_in_wine()) GTEST_SKIP() << "wine 8 does not report that the port is unreachable";
    rt().run([&] {
        udp_socket one = udp_socket::connected_to(server_.local_endpoint());
        server_.close();
        std::error_code ec;
        one.send("x", ec);
        EXPECT_FALSE(ec) << ec.message();
        char text[8];
        static_cast<void>(one.receive(text, ec));
        EXPECT_EQ(ec, std::errc::connection_refused);
    });
}

TEST_P(Udp, ADualStackSocketReachesIPv4) {
    rt().run([&] {
        udp_socket both{endpoint(":0")};
        both.send_to("x", server_.local_endpoint());
        char text[8];
        auto got = server_.receive(text);
        EXPECT_EQ(got.from.port(), both.local_endpoint().port());
        server_.send_to("yy", endpoint::loopback(got.from.port()));
        got = both.receive(text);
        EXPECT_EQ(got.size, 2U);
        EXPECT_EQ(got.from, server_.local_endpoint());
        both.connect(server_.local_endpoint());
        both.send("zzz");
        EXPECT_EQ(server_.receive(text).size, 3U);
    });
}

TEST_P(Udp, ATooLargeDatagramIsAnError) {
    rt().run([&] {
        const std::vector<char> much(70'000);
        std::error_code ec;
        client_.send_to(much, server_.local_endpoint(), ec);
        EXPECT_EQ(ec, std::errc::message_size);
        try {
            client_.send_to(much, server_.local_endpoint());
            ADD_FAILURE();
        } catch (const std::system_error& e) {
            EXPECT_NE(std::string(e.what()).find(server_.local_endpoint().to_string()), std::string::npos) << e.what();
        }
    });
}

TEST_P(Udp, ClosingDeadlinesAndCancellationEndAWait) {
    rt().run([&] {
        char text[8];
        std::error_code ec;
        server_.set_deadline(std::chrono::steady_clock::now() + 2ms);
        static_cast<void>(server_.receive(text, ec));
        EXPECT_EQ(ec, errc::timed_out);
        server_.clear_deadline();
        EXPECT_THROW(with_timeout(2ms, [&] { static_cast<void>(server_.receive(text)); }), timed_out);
        wait_group all;
        all.go([&] {
            std::error_code why;
            static_cast<void>(server_.receive(text, why));
            EXPECT_EQ(why, errc::closed);
        });
        while (rt().stats().waiting == 0) yield();
        server_.close();
        all.wait();
        server_.send_to("x", client_.local_endpoint(), ec);
        EXPECT_EQ(ec, errc::closed);
    });
}

TEST_P(Udp, AGroupIsJoinedAndLeft) {
    const endpoint group("239.255.77.1:0");
    udp_socket member(endpoint(":0"), {.reuse_address = true, .v6_only = false});
    udp_socket v4(endpoint("0.0.0.0:0"));
    try {
        v4.join(group);
    } catch (const std::system_error& e) {
        GTEST_SKIP() << "this machine has no network for groups: " << e.what();
    }
    v4.leave(group);
    EXPECT_THROW(v4.leave(group), std::system_error);
}

bool ports_can_be_shared() {
    const int probe = weft::detail::os::socket_make(AF_INET, SOCK_DGRAM, 0);
    const int result = weft::detail::os::socket_option(probe, SOL_SOCKET, SO_REUSEPORT, 1);
    weft::detail::os::fd_close(probe);
    return result == 0;
}

TEST_P(Udp, TwoMayShareAPort) {
    if (!ports_can_be_shared()) GTEST_SKIP() << "this system does not distribute senders to several sockets";
    const udp_socket first(endpoint::loopback(0), {.reuse_port = true});
    const udp_socket second(first.local_endpoint(), {.reuse_port = true});
    EXPECT_EQ(first.local_endpoint(), second.local_endpoint());
    try {
        const udp_socket third(server_.local_endpoint());
        ADD_FAILURE();
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::address_in_use);
        EXPECT_NE(std::string(e.what()).find("choose another port"), std::string::npos) << e.what();
    }
}

TEST_P(Udp, ASocketIsReleasedAndAdopted) {
    udp_socket adopted = udp_socket::adopt(client_.release());
    rt().run([&] {
        adopted.send_to("x", server_.local_endpoint());
        char text[8];
        EXPECT_EQ(server_.receive(text).from, adopted.local_endpoint());
    });
    const int stream = weft::detail::os::socket_make(AF_INET, SOCK_STREAM, 0);
    EXPECT_THROW(static_cast<void>(udp_socket::adopt(stream)), std::system_error);
    weft::detail::os::fd_close(stream);
}

}  // namespace
}  // namespace weft::test
