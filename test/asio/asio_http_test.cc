// asio_http_test.cc: HTTP by Boost.Beast over weft's sockets, plain and with TLS.

#include <algorithm>
#include <array>
#include <boost/asio/completion_condition.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/asio/stream.h>
#include <weft/net/tcp.h>
#include <weft/weft.h>

#include "both_kinds.h"
#include "support/build.h"
#include "support/environment.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
namespace http = boost::beast::http;
using boost::system::error_code;

// Answers requests until the peer sends no more. Each answer has the request's body, twice.
template <typename Stream>
void serve(Stream below) {
    asio::stream connection(std::move(below));
    boost::beast::flat_buffer buffer;
    for (;;) {
        http::request<http::string_body> request;
        error_code ec;
        http::read(connection, buffer, request, ec);
        if (ec == http::error::end_of_stream) break;
        ASSERT_FALSE(ec) << ec.message();
        http::response<http::string_body> response(http::status::ok, request.version());
        response.keep_alive(request.keep_alive());
        response.chunked(request.target() == "/chunked");
        response.body() = request.body() + request.body();
        if (!response.chunked()) response.prepare_payload();
        http::write(connection, response);
    }
    connection.next_layer().shutdown_send();
}

template <typename Stream>
void ask(Stream below, int requests) {
    asio::stream connection(std::move(below));
    boost::beast::flat_buffer buffer;
    for (int i = 0; i < requests; ++i) {
        http::request<http::string_body> request(http::verb::post, i % 2 == 0 ? "/" : "/chunked", 11);
        request.set(http::field::host, "example.test");
        request.body() = std::string(static_cast<std::size_t>(1) << (i % 16), static_cast<char>('a' + i % 26));
        request.prepare_payload();
        http::write(connection, request);
        http::response<http::string_body> response;
        http::read(connection, buffer, response);
        ASSERT_EQ(response.result(), http::status::ok);
        ASSERT_EQ(response.body(), request.body() + request.body());
    }
    connection.next_layer().shutdown_send();
}

template <typename Kind>
class AsioHttp : public both_kinds_test<Kind> {};

TYPED_TEST_SUITE(AsioHttp, both_kinds);

TYPED_TEST(AsioHttp, AnswersRequests) {
    this->on_each([](runtime& rt, auto make_pair) {
        rt.run([&] {
            wait_group all;
            for (int c = 0; c < scaled(10); ++c) {
                auto [near, far] = make_pair();
                all.go([s = std::move(far)]() mutable { serve(std::move(s)); });
                all.go([s = std::move(near)]() mutable { ask(std::move(s), scaled(20)); });
            }
            all.wait();
        });
    });
}

TYPED_TEST(AsioHttp, ReportsTheEndOfStreamAndTimeouts) {
    this->on_each([](runtime& rt, auto make_pair) {
        rt.run([&] {
            auto [near_below, far_below] = make_pair();
            asio::stream near(std::move(near_below));
            asio::stream far(std::move(far_below));
            std::array<char, 4> b{};
            error_code ec;
            EXPECT_EQ(near.read_some(boost::asio::mutable_buffer(b.data(), 0), ec), 0U);
            EXPECT_FALSE(ec) << "no room is no end";
            near.next_layer().set_read_deadline(std::chrono::steady_clock::now() + 3ms);
            EXPECT_EQ(near.read_some(boost::asio::buffer(b), ec), 0U);
            EXPECT_EQ(ec, boost::asio::error::timed_out);
            EXPECT_THROW(near.read_some(boost::asio::buffer(b)), boost::system::system_error);
            near.next_layer().clear_deadline();
            EXPECT_THROW(with_timeout(3ms, [&] { near.read_some(boost::asio::buffer(b)); }), timed_out);
            const std::array<boost::asio::const_buffer, 3> pieces{
                boost::asio::buffer("ab", 2), boost::asio::const_buffer(), boost::asio::buffer("cd", 2)};
            EXPECT_EQ(boost::asio::write(far, pieces), 4U);
            EXPECT_EQ(boost::asio::read(near, boost::asio::buffer(b)), 4U);
            EXPECT_EQ(std::string(b.data(), 4), "abcd");
            far.next_layer().shutdown_send();
            EXPECT_EQ(boost::asio::read(near, boost::asio::buffer(b), ec), 0U);
            EXPECT_EQ(ec, boost::asio::error::eof);
            beast_close_socket(near);
            EXPECT_EQ(near.read_some(boost::asio::buffer(b), ec), 0U);
            EXPECT_EQ(ec, boost::asio::error::bad_descriptor);
        });
    });
}

TEST(AsioErrors, MapToAsioErrorsIfThereAreAny) {
    EXPECT_FALSE(asio::to_boost({}));
    EXPECT_EQ(asio::to_boost(errc::cancelled), boost::asio::error::operation_aborted);
    EXPECT_EQ(asio::to_boost(std::make_error_code(std::errc::connection_reset)), boost::asio::error::connection_reset);
    EXPECT_EQ(asio::to_boost(errc::channel_closed).message(), make_error_code(errc::channel_closed).message());
}

// Each green thread runs on a fresh stack of the usual size, with only the top page touched before.
TYPED_TEST(AsioHttp, FitsTheUsualStack) {
    if (built_with_sanitizer) GTEST_SKIP() << "frames are larger";
    const environment_variable measured("RUN_DEBUG", "stack_use=1");
    this->on_each([](runtime& rt, auto make_pair) {
        auto [near, far] = rt.run(make_pair);
        rt.go([s = std::move(far)]() mutable { serve(std::move(s)); });
        rt.go([s = std::move(near)]() mutable { ask(std::move(s), 20); });
        rt.drain();
        const std::size_t deepest = deepest_stack(rt);
        std::printf("HTTP: %zu bytes of stack\n", deepest);
        EXPECT_LT(deepest, 64U * 1024);
    });
}

}  // namespace
}  // namespace weft::test
