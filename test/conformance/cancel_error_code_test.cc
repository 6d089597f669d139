// cancel_error_code_test.cc: interruptions and closed channels reported in a std::error_code.

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using CancelErrorCode = procs_test;
WEFT_SWEEP(CancelErrorCode);

static_assert(std::is_error_code_enum_v<errc>);

TEST(ErrorCodes, AreEquivalentToSystemErrors) {
    const std::error_code cancelled_code = errc::cancelled;
    const std::error_code timed_out_code = errc::timed_out;
    const std::error_code closed_code = errc::channel_closed;
    EXPECT_EQ(cancelled_code, std::errc::operation_canceled);
    EXPECT_EQ(timed_out_code, std::errc::timed_out);
    EXPECT_EQ(closed_code, std::errc::broken_pipe);
    EXPECT_NE(cancelled_code, std::errc::timed_out);
    EXPECT_NE(timed_out_code, closed_code);
    for (const std::error_code& c : {cancelled_code, timed_out_code, closed_code}) {
        EXPECT_TRUE(c);
        EXPECT_EQ(&c.category(), &error_category());
        EXPECT_FALSE(c.message().empty());
        EXPECT_EQ(c.category().name(), std::string("weft"));
    }
    EXPECT_FALSE(error_category().message(1000).empty());
}

// A std::error_code with an old value: every call sets it.
std::error_code stale() { return std::make_error_code(std::errc::no_space_on_device); }

TEST_P(CancelErrorCode, IsClearAfterSuccess) {
    rt().run([] {
        const chan<int> c(1);
        std::error_code ec = stale();
        c.send(1, ec);
        EXPECT_EQ(ec, std::error_code());
        ec = stale();
        EXPECT_EQ(c.recv(ec), 1);
        EXPECT_EQ(ec, std::error_code());
        send_chan<int>(c).send(2, ec = stale());
        EXPECT_EQ(ec, std::error_code());
        EXPECT_EQ(recv_chan<int>(c).recv(ec = stale()), 2);
        EXPECT_EQ(ec, std::error_code());
    });
}

TEST_P(CancelErrorCode, ReportsClosedOnlyToSenders) {
    rt().run([] {
        const chan<std::unique_ptr<int>> c;
        c.close();
        std::error_code ec = stale();
        auto v = std::make_unique<int>(1);
        c.send(std::move(v), ec);
        EXPECT_EQ(ec, errc::channel_closed);
        EXPECT_NE(v, nullptr);
        EXPECT_EQ(c.recv(ec = stale()), std::nullopt);
        EXPECT_EQ(ec, std::error_code());
    });
}

TEST_P(CancelErrorCode, DistinguishesCancellationFromTimeout) {
    std::stop_source stopped;
    stopped.request_stop();
    const auto check = [&] {
        for (const chan<std::unique_ptr<int>>& c : {chan<std::unique_ptr<int>>(), chan<std::unique_ptr<int>>::nil()}) {
            std::error_code ec = stale();
            auto v = std::make_unique<int>(1);
            with_timeout(300us, [&] { c.send(std::move(v), ec); });
            EXPECT_EQ(ec, errc::timed_out);
            EXPECT_NE(v, nullptr);
            EXPECT_EQ(with_timeout(300us, [&] { return c.recv(ec = stale()); }), std::nullopt);
            EXPECT_EQ(ec, errc::timed_out);
            with_stop_token(stopped.get_token(), [&] { c.send(std::move(v), ec = stale()); });
            EXPECT_EQ(ec, errc::cancelled);
            EXPECT_NE(v, nullptr);
            EXPECT_EQ(with_stop_token(stopped.get_token(), [&] { return c.recv(ec = stale()); }), std::nullopt);
            EXPECT_EQ(ec, errc::cancelled);
        }
    };
    rt().run(check);
    check();
}

TEST_P(CancelErrorCode, ReportsACancellationDuringTheWait) {
    const chan<int> c;
    std::optional<future<std::error_code>> f[2];
    park(2, [&] {
        f[0] = rt().async([&] {
            std::error_code ec = stale();
            c.recv(ec);
            return ec;
        });
        f[1] = rt().async([] {
            std::error_code ec = stale();
            chan<int>::nil().send(1, ec);
            return ec;
        });
    });
    for (auto& each : f) {
        each->cancel();
        EXPECT_EQ(each->get(), errc::cancelled);
    }
    EXPECT_EQ(c.try_send(1), chan_status::would_block);
}

TEST_P(CancelErrorCode, ReportsACloseDuringTheWait) {
    const chan<int> c;
    std::optional<future<std::error_code>> f;
    park(1, [&] {
        f = rt().async([&] {
            std::error_code ec = stale();
            c.send(1, ec);
            return ec;
        });
    });
    c.close();
    EXPECT_EQ(f->get(), errc::channel_closed);
}

}  // namespace
}  // namespace weft::test
