// net_half_open_test.cc: connections whose peer vanished silently, and connections with one
// direction ended.

#include <atomic>
#include <chrono>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/connections.h"
#include "support/gone_without_a_word.h"
#include "support/outside_poller.h"
#include "support/procs_test.h"
#include "support/sigpipe_counter.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::const_buffer;

class NetHalfOpen : public procs_test {
protected:
    static void SetUpTestSuite() { open_outside_poller(); }

    void TearDown() override {
        EXPECT_EQ(sigpipes_.count(), 0);
        procs_test::TearDown();
    }

    sigpipe_counter sigpipes_;
};

WEFT_SWEEP_OVER(NetHalfOpen, 1U, 4U);

bool is_gone(const std::error_code& ec) { return ec == std::errc::connection_reset || ec == std::errc::broken_pipe; }

// A reader does not notice, so only a deadline ends its wait. The first bytes sent are answered by
// a reset, which wakes the reader.
TEST_P(NetHalfOpen, OnlyADeadlineOrAWriteEndsARead) {
    connection c((over_tcp()));
    if (!go_without_a_word(c.far)) GTEST_SKIP() << "it takes CAP_NET_ADMIN";
    rt().run([&] {
        std::error_code ec;
        char b[1];
        c.near.set_read_deadline(std::chrono::steady_clock::now() + 20ms);
        EXPECT_EQ(c.near.read_some(b, ec), 0U);
        EXPECT_EQ(ec, errc::timed_out);
        c.near.clear_deadline();
    });
    std::error_code reading;
    park(1, [&] {
        rt().go([&] {
            char b[1];
            EXPECT_EQ(c.near.read_some(b, reading), 0U);
        });
    });
    std::error_code writing;
    c.near.write_all("is anybody there?", writing);
    rt().drain();
    EXPECT_FALSE(writing) << "the system has taken it";
    EXPECT_EQ(reading, std::errc::connection_reset) << reading.message();
    c.near.write_all("x", writing);
    EXPECT_TRUE(is_gone(writing)) << writing.message();
}

// Keep-alive probes are answered by a peer that does not know the connection.
TEST_P(NetHalfOpen, KeepAliveEndsARead) {
    connection c((over_tcp()));
    c.near.set_keep_alive(true, 1s, 1s, 2);
    if (!go_without_a_word(c.far)) GTEST_SKIP() << "it takes CAP_NET_ADMIN";
    rt().run([&] {
        std::error_code ec;
        char b[1];
        EXPECT_EQ(c.near.read_some(b, ec), 0U);
        EXPECT_TRUE(is_gone(ec) || ec == std::errc::timed_out) << ec.message();
        EXPECT_NE(ec, errc::timed_out) << "no deadline of ours";
    });
}

// One side has sent everything. The other continues as long as it likes, and then closes.
TEST_P(NetHalfOpen, AfterShutdownSendTheOtherDirectionContinues) {
    rt().run([] {
        over_streams([](auto over) {
            connection c(over);
            c.near.write_all("that was all");
            c.near.shutdown_send();
            std::string got(100, ' ');
            EXPECT_EQ(c.far.read(got), 12U);
            const std::string much = secret_bytes(5, 0, 2'000'000);
            wait_group far;
            far.go([&] {
                c.far.write_all(much);
                c.far.close();
            });
            std::string back(much.size() + 1, ' ');
            EXPECT_EQ(c.near.read(back), much.size());
            EXPECT_TRUE(are_secret_bytes(back.data(), much.size(), 5, 0));
            std::error_code ec;
            c.near.write_all("x", ec);
            EXPECT_EQ(ec, std::errc::broken_pipe);
            far.wait();
        });
    });
}

}  // namespace
}  // namespace weft::test
