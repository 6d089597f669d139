// asio_executor_test.cc: the runtime as an executor of Boost.Asio.

#include <algorithm>
#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/asio/executor.h>
#include <weft/asio/strand.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;
using boost::system::error_code;

static_assert(boost::asio::execution::is_executor_v<asio::executor>);
static_assert(std::is_convertible_v<asio::executor, boost::asio::any_io_executor>);
static_assert(std::is_convertible_v<asio::strand, boost::asio::any_io_executor>);
static_assert(std::is_nothrow_copy_constructible_v<asio::executor>);

class AsioExecutor : public ::testing::TestWithParam<unsigned> {
protected:
    runtime rt_{{.procs = GetParam()}};
    asio::context here_{rt_};
};

INSTANTIATE_TEST_SUITE_P(Procs, AsioExecutor, ::testing::Values(1U, 2U, 4U));

TEST_P(AsioExecutor, HandlersAreGreenThreadsAndMayWait) {
    chan<uint64_t> ids(2);
    const chan<int> gate;
    // The handlers wait for each other.
    boost::asio::post(here_.get_executor(), [=]() mutable {
        static_cast<void>(gate.recv());
        ids.send(this_g::id());
    });
    boost::asio::dispatch(here_.get_executor(), [=, moved = std::make_unique<int>(1)]() mutable {
        gate.send(*moved);
        ids.send(this_g::id());
    });
    const auto a = ids.recv();
    const auto b = ids.recv();
    ASSERT_TRUE(a && b);
    EXPECT_NE(*a, 0U);
    EXPECT_NE(*a, *b);
    EXPECT_EQ(here_.get_executor(), here_.get_executor());
    asio::context other(rt_);
    EXPECT_NE(here_.get_executor(), other.get_executor());
}

// Holds for both kinds of strands. Handlers on Asio's own must not wait.
TEST_P(AsioExecutor, AStrandRunsOneHandlerAtATime) {
    const auto count_on = [](const boost::asio::any_io_executor& strand, bool may_wait) {
        int sum = 0;
        const int tasks = scaled(1000);
        std::vector<int> order;
        wait_group all;
        for (int i = 0; i < tasks; ++i) {
            all.add(1);
            boost::asio::post(strand, [&, i] {
                const int seen = sum;
                if (may_wait && seen % 16 == 0) sleep_for(10us);
                sum = seen + 1;
                order.push_back(i);
                all.done();
            });
        }
        all.wait();
        EXPECT_EQ(sum, tasks);
        EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    };
    count_on(asio::strand(here_.get_executor()), true);
    count_on(boost::asio::make_strand(boost::asio::any_io_executor(here_.get_executor())), false);
    rt_.drain();
}

TEST_P(AsioExecutor, StrandsCompareByIdentity) {
    const asio::strand one(here_.get_executor());
    const asio::strand same = one;  // NOLINT(performance-unnecessary-copy-initialization)
    EXPECT_EQ(one, same);
    EXPECT_NE(one, asio::strand(here_.get_executor()));
    EXPECT_EQ(&one.query(boost::asio::execution::context), &here_);
}

TEST_P(AsioExecutor, AsioTimersAndSocketsWork) {
    std::atomic<int> fired = 0;
    boost::asio::steady_timer timer(here_.get_executor(), 1ms);
    timer.async_wait([&](error_code ec) {
        EXPECT_FALSE(ec);
        sleep_for(1ms);
        ++fired;
    });
    boost::asio::steady_timer never(here_.get_executor(), 1h);
    never.async_wait([&](error_code ec) {
        EXPECT_EQ(ec, boost::asio::error::operation_aborted);
        ++fired;
    });
    never.cancel();
    eventually([&] { return fired == 2; });
    rt_.drain();
}

boost::asio::awaitable<void> echo(tcp::socket socket) {
    std::string text(5, ' ');
    co_await boost::asio::async_read(socket, boost::asio::buffer(text), boost::asio::use_awaitable);
    co_await boost::asio::async_write(socket, boost::asio::buffer(text), boost::asio::use_awaitable);
}

TEST_P(AsioExecutor, AsioCoroutinesWork) {
    tcp::acceptor acceptor(here_.get_executor(), tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
    std::atomic<bool> ended = false;
    const asio::strand strand(here_.get_executor());
    boost::asio::co_spawn(
        strand,
        [&]() -> boost::asio::awaitable<void> {
            co_await echo(co_await acceptor.async_accept(boost::asio::use_awaitable));
        },
        [&](std::exception_ptr error) {
            EXPECT_FALSE(error);
            ended = true;
        });
    tcp::socket client(here_.get_executor());
    client.connect(acceptor.local_endpoint());
    boost::asio::write(client, boost::asio::buffer("hello", 5));
    std::string text(5, ' ');
    boost::asio::read(client, boost::asio::buffer(text));
    EXPECT_EQ(text, "hello");
    eventually([&] { return ended.load(); });
    rt_.drain();
}

TEST_P(AsioExecutor, WithoutARuntimeItUsesTheCallersRuntime) {
    asio::context anywhere;
    const bool same = rt_.run([&] {
        chan<bool> answer(1);
        const label_set mine = this_g::labels();
        this_g::set_label("who", "the caller");
        boost::asio::post(anywhere.get_executor(), [=]() mutable { answer.send(!this_g::labels().empty()); });
        return answer.recv().value_or(false);
    });
    EXPECT_TRUE(same);
    rt_.drain();
}

TEST_P(AsioExecutor, AfterTheRuntimeHasStoppedHandlersAreDestroyed) {
    const auto held = std::make_shared<int>(1);
    rt_.drain();
    rt_.abandon();
    boost::asio::post(here_.get_executor(), [held] { ADD_FAILURE(); });
    boost::asio::post(asio::strand(here_.get_executor()), [held] { ADD_FAILURE(); });
    EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace weft::test
