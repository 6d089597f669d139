// asio_websocket_test.cc: WebSockets by Boost.Beast over weft's sockets, plain and with TLS.

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <cstdio>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <weft/asio/stream.h>
#include <weft/weft.h>

#include "both_kinds.h"
#include "support/build.h"
#include "support/environment.h"
#include "support/scale.h"

namespace weft::test {
namespace {

namespace websocket = boost::beast::websocket;
using boost::system::error_code;

template <typename Stream>
using socket_over = websocket::stream<asio::stream<Stream>>;

template <typename Stream>
void serve(Stream below) {
    socket_over<Stream> ws(std::move(below));
    ws.accept();
    boost::beast::flat_buffer buffer;
    for (error_code ec;;) {
        ws.read(buffer, ec);
        if (ec == websocket::error::closed) break;
        ASSERT_FALSE(ec) << ec.message();
        ws.text(ws.got_text());
        ws.write(buffer.data());
        buffer.clear();
    }
    EXPECT_EQ(ws.reason().reason, "enough");
    EXPECT_FALSE(ws.next_layer().next_layer().is_open()) << "torn down";
}

template <typename Stream>
void talk(Stream below, int messages) {
    socket_over<Stream> ws(std::move(below));
    ws.handshake("example.test", "/");
    boost::beast::flat_buffer buffer;
    for (int i = 0; i < messages; ++i) {
        const std::string sent(static_cast<std::size_t>(1) << (i % 18), static_cast<char>('a' + i % 26));
        ws.write(boost::asio::buffer(sent));
        ws.read(buffer);
        ASSERT_EQ(boost::beast::buffers_to_string(buffer.data()), sent);
        buffer.clear();
    }
    ws.close({websocket::close_code::normal, "enough"});
}

template <typename Kind>
class AsioWebSocket : public both_kinds_test<Kind> {};

TYPED_TEST_SUITE(AsioWebSocket, both_kinds);

TYPED_TEST(AsioWebSocket, TransfersMessagesAndReportsTheClose) {
    this->on_each([](runtime& rt, auto make_pair) {
        rt.run([&] {
            wait_group all;
            for (int c = 0; c < scaled(5); ++c) {
                auto [near, far] = make_pair();
                all.go([s = std::move(far)]() mutable { serve(std::move(s)); });
                all.go([s = std::move(near)]() mutable { talk(std::move(s), scaled(20)); });
            }
            all.wait();
        });
    });
}

TYPED_TEST(AsioWebSocket, FitsTheUsualStack) {
    if (built_with_sanitizer) GTEST_SKIP() << "frames are larger";
    const environment_variable measured("RUN_DEBUG", "stack_use=1");
    this->on_each([](runtime& rt, auto make_pair) {
        auto [near, far] = rt.run(make_pair);
        rt.go([s = std::move(far)]() mutable { serve(std::move(s)); });
        rt.go([s = std::move(near)]() mutable { talk(std::move(s), 18); });
        rt.drain();
        const std::size_t deepest = deepest_stack(rt);
        std::printf("WebSocket: %zu bytes of stack\n", deepest);
        EXPECT_LT(deepest, 64U * 1024);
    });
}

}  // namespace
}  // namespace weft::test
