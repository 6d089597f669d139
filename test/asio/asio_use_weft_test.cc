// asio_use_weft_test.cc: asynchronous operations of Boost.Asio as blocking calls.

#include <array>
#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include <weft/asio/strand.h>
#include <weft/asio/use_weft.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using asio::use_weft;
using boost::asio::ip::tcp;
using boost::system::error_code;

// An io_context that a thread runs, during the lifetime of this object.
class run_by_thread {
public:
    ~run_by_thread() {
        work_.reset();
        thread_.join();
    }

    boost::asio::any_io_executor executor() { return io_.get_executor(); }

private:
    boost::asio::io_context io_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
    std::thread thread_{[this] { io_.run(); }};
};

class AsioUseWeft : public ::testing::TestWithParam<unsigned> {
protected:
    // Runs body(executor) as a green thread: on an io_context that a thread runs, and on the
    // runtime's own executor. Operations of the latter can be cancelled only on a strand.
    void on_each(const std::function<void(boost::asio::any_io_executor)>& body) {
        {
            SCOPED_TRACE("io_context");
            run_by_thread io;
            rt_.run([&] { body(io.executor()); });
        }
        {
            SCOPED_TRACE("the runtime's");
            asio::context here(rt_);
            rt_.run([&] { body(asio::strand(here.get_executor())); });
            rt_.drain();
        }
    }

    runtime rt_{{.procs = GetParam()}};
};

INSTANTIATE_TEST_SUITE_P(Procs, AsioUseWeft, ::testing::Values(1U, 2U, 4U));

std::pair<tcp::socket, tcp::socket> socket_pair(const boost::asio::any_io_executor& on) {
    tcp::acceptor acceptor(on, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
    tcp::socket near(on);
    near.async_connect(acceptor.local_endpoint(), use_weft);
    tcp::socket far = acceptor.async_accept(use_weft);
    return {std::move(near), std::move(far)};
}

TEST_P(AsioUseWeft, CallsReturnTheirResults) {
    on_each([](const boost::asio::any_io_executor& on) {
        auto [near, far] = socket_pair(on);
        for (int i = 0; i < scaled(100); ++i) {
            const std::string sent = "message " + std::to_string(i) + '\n';
            EXPECT_EQ(boost::asio::async_write(near, boost::asio::buffer(sent), use_weft), sent.size());
            std::string got;
            EXPECT_EQ(boost::asio::async_read_until(far, boost::asio::dynamic_buffer(got), '\n', use_weft),
                      sent.size());
            EXPECT_EQ(got, sent);
        }
        boost::asio::post(on, use_weft);  // it only waits for its turn
    });
}

TEST_P(AsioUseWeft, OtherGreenThreadsRunDuringAWait) {
    on_each([](const boost::asio::any_io_executor& on) {
        std::atomic<int> ended = 0;
        const auto begin = std::chrono::steady_clock::now();
        wait_group all;
        for (int i = 0; i < 50; ++i) {
            all.go([&] {
                boost::asio::steady_timer(on, 20ms).async_wait(use_weft);
                ++ended;
            });
        }
        all.wait();
        EXPECT_EQ(ended, 50);
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 50 * 20ms);
    });
}

TEST_P(AsioUseWeft, ErrorsAreThrownOrReported) {
    on_each([](const boost::asio::any_io_executor& on) {
        auto [near, far] = socket_pair(on);
        far.close();
        std::array<char, 4> b{};
        try {
            static_cast<void>(near.async_read_some(boost::asio::buffer(b), use_weft));
            ADD_FAILURE();
        } catch (const boost::system::system_error& e) {
            EXPECT_EQ(e.code(), boost::asio::error::eof);
        }
        // On a new pair: Asio would wait for the next event of a socket whose end it has seen, and
        // none comes.
        auto [other, gone] = socket_pair(on);
        gone.close();
        error_code ec = boost::asio::error::fault;
        EXPECT_EQ(boost::asio::async_read(other, boost::asio::buffer(b), use_weft[ec]), 0U);
        EXPECT_EQ(ec, boost::asio::error::eof);
        boost::asio::steady_timer(on, 1ms).async_wait(use_weft[ec]);
        EXPECT_FALSE(ec);
    });
}

TEST_P(AsioUseWeft, AnInterruptedCallerCancelsTheOperation) {
    on_each([](const boost::asio::any_io_executor& on) {
        auto [near, far] = socket_pair(on);
        std::array<char, 4> b{};
        EXPECT_THROW(
            with_timeout(5ms, [&, &s = near] { boost::asio::async_read(s, boost::asio::buffer(b), use_weft); }),
            timed_out);
        error_code ec;
        with_timeout(5ms, [&, &s = near] { boost::asio::async_read(s, boost::asio::buffer(b), use_weft[ec]); });
        EXPECT_EQ(ec, boost::asio::error::timed_out);
        bool was_cancelled = false;
        scope([&, &s = near](task_scope& all) {
            all.go([&] {
                try {
                    s.async_read_some(boost::asio::buffer(b), use_weft);
                } catch (const cancelled&) {
                    was_cancelled = true;
                    throw;
                }
            });
            sleep_for(1ms);
            all.cancel();
        });
        EXPECT_TRUE(was_cancelled);
        // The socket still works.
        boost::asio::async_write(far, boost::asio::buffer("abcd", 4), use_weft);
        EXPECT_EQ(boost::asio::async_read(near, boost::asio::buffer(b), use_weft), 4U);
    });
}

// Sometimes one wins, sometimes the other. Exactly one must, and no frame may be used after it has
// ended.
TEST_P(AsioUseWeft, CompletionsRaceWithCancellation) {
    on_each([](const boost::asio::any_io_executor& on) {
        wait_group all;
        for (int i = 0; i < scaled(500); ++i) {
            all.go([&, i] {
                error_code ec;
                with_timeout(std::chrono::microseconds(i % 100 * 20),
                             [&] { boost::asio::steady_timer(on, 1ms).async_wait(use_weft[ec]); });
                EXPECT_TRUE(!ec || ec == boost::asio::error::timed_out) << ec.message();
            });
        }
        all.wait();
    });
}

// A user-defined operation, whose handler takes these arguments.
template <typename... Args, typename Body, typename Token>
auto initiate(Body body, Token token) {
    return boost::asio::async_initiate<Token, void(Args...)>([](auto handler, Body b) { b(std::move(handler)); }, token,
                                                             std::move(body));
}

TEST_P(AsioUseWeft, SupportsEveryHandlerSignature) {
    rt_.run([] {
        const auto at_once = [](auto... values) {
            return [=](auto handler) mutable { std::move(handler)(std::move(values)...); };
        };
        initiate<>(at_once(), use_weft);
        EXPECT_EQ(initiate<int>(at_once(5), use_weft), 5);
        const std::tuple<int, std::string> both =
            initiate<error_code, int, std::string>(at_once(error_code(), 5, std::string("five")), use_weft);
        EXPECT_EQ(both, std::tuple(5, std::string("five")));
        initiate<std::exception_ptr>(at_once(std::exception_ptr()), use_weft);
        EXPECT_THROW(initiate<std::exception_ptr>(at_once(std::make_exception_ptr(std::runtime_error("x"))), use_weft),
                     std::runtime_error);
        // Completed by another thread, which cannot be told to stop.
        std::thread other;
        EXPECT_THROW(with_timeout(2ms,
                                  [&] {
                                      const int late = initiate<error_code, int>(
                                          [&](auto handler) {
                                              other = std::thread([h = std::move(handler)]() mutable {
                                                  std::this_thread::sleep_for(10ms);
                                                  std::move(h)(error_code(), 7);
                                              });
                                          },
                                          use_weft);
                                      EXPECT_EQ(late, 7) << "it has been done";
                                      sleep_for(1ms);
                                  }),
                     timed_out);
        other.join();
    });
}

TEST_P(AsioUseWeft, AnAbandonedOperationFails) {
    rt_.run([] {
        error_code ec;
        EXPECT_EQ(initiate<int>([](auto handler) { static_cast<void>(handler); }, use_weft[ec]), 0);
        EXPECT_EQ(ec, boost::asio::error::operation_aborted);
        EXPECT_THROW(initiate<>([](auto handler) { static_cast<void>(handler); }, use_weft),
                     boost::system::system_error);
    });
    // A handler that was posted to an io_context which is destroyed.
    auto io = std::make_unique<boost::asio::io_context>();
    std::atomic<bool> failed = false;
    const uint64_t parks = rt_.stats().parks;
    rt_.go([&, &context = *io] {
        error_code ec;
        boost::asio::post(context, use_weft[ec]);
        failed = ec == boost::asio::error::operation_aborted;
    });
    eventually([&] { return rt_.stats().parks > parks; });
    io.reset();
    rt_.drain();
    EXPECT_TRUE(failed);
}

// The operation that ends while its caller is interrupted was the last work of the context, so no
// thread runs the context afterwards.
struct wait_once {
    boost::asio::steady_timer& timer;
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>>& until_begun;

    [[nodiscard]] auto get_executor() const { return timer.get_executor(); }

    template <typename Handler>
    void operator()(Handler h) {
        timer.async_wait(std::move(h));
        until_begun.reset();
    }
};

TEST_P(AsioUseWeft, AStoppedContextDoesNotBlockACancellation) {
    rt_.run([] {
        for (int i = 0; i < scaled(300); ++i) {
            boost::asio::io_context io(1);
            std::optional until_begun(boost::asio::make_work_guard(io));
            std::thread runs([&] { io.run(); });
            boost::asio::steady_timer timer(io, 1ms);
            try {
                with_timeout(1ms, [&] {
                    boost::asio::async_initiate<const asio::use_weft_t&, void(error_code)>(
                        wait_once{timer, until_begun}, use_weft);
                });
            } catch (const timed_out&) {}
            blocking([&] { runs.join(); });
        }
    });
}

TEST_P(AsioUseWeft, AGreenThreadMayRunTheContextInABlockingCall) {
    rt_.run([] {
        boost::asio::io_context io(1);
        auto work = boost::asio::make_work_guard(io);
        wait_group runner;
        runner.go([&] { blocking([&] { io.run(); }); });
        for (int i = 0; i < 3; ++i) boost::asio::steady_timer(io, 1ms).async_wait(use_weft);
        work.reset();
        runner.wait();
    });
}

TEST_P(AsioUseWeft, PlainThreadsMayCall) {
    run_by_thread io;
    boost::asio::steady_timer(io.executor(), 1ms).async_wait(use_weft);
}

}  // namespace
}  // namespace weft::test
