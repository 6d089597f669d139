// tcp_calls_test.cc: each call of a TCP stream and listener, and the errors it reports.

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/net/tcp.h>
#include <weft/weft.h>

#include "support/procs_test.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::const_buffer;
using net::endpoint;
using net::mutable_buffer;
using net::tcp_listener;
using net::tcp_stream;

class TcpCalls : public procs_test {
protected:
    TcpCalls() : listener_(endpoint::loopback(0)) {
        rt().run([this] {
            near_ = tcp_stream::connect(listener_.local_endpoint());
            far_ = listener_.accept();
        });
    }

    void TearDown() override {
        near_.close();
        far_.close();
        listener_.close();
        procs_test::TearDown();
    }

    tcp_listener listener_;
    tcp_stream near_;
    tcp_stream far_;
};

WEFT_SWEEP_OVER(TcpCalls, 1U, 4U);

int option_of(int fd, int level, int option) {
    int value = -1;
    socklen_t size = sizeof(value);
    EXPECT_EQ(::getsockopt(fd, level, option, &value, &size), 0);
    return value;
}

TEST_P(TcpCalls, VectoredCallsTransferSeveralBuffers) {
    rt().run([&] {
        // More pieces than fit into one system call, some of them empty.
        std::vector<std::string> pieces;
        std::string whole;
        for (int i = 0; i < 150; ++i) {
            pieces.push_back(i % 10 == 0 ? std::string() : std::to_string(i) + ' ');
            whole += pieces.back();
        }
        const std::vector<const_buffer> from(pieces.begin(), pieces.end());
        EXPECT_EQ(near_.writev_all(from), whole.size());
        std::string first(10, ' ');
        std::string second(whole.size(), ' ');
        const std::array<mutable_buffer, 3> into{mutable_buffer(first), mutable_buffer(nullptr, 0),
                                                 mutable_buffer(second)};
        std::size_t got = far_.readv_some(into);
        ASSERT_GT(got, first.size());
        second.resize(got - first.size());
        std::string rest(whole.size() - got, ' ');
        EXPECT_EQ(far_.read(rest), rest.size());
        EXPECT_EQ(first + second + rest, whole);
        EXPECT_EQ(near_.writev_all({}), 0U);
        EXPECT_EQ(far_.readv_some({}), 0U);
    });
}

TEST_P(TcpCalls, SendFileSendsAPieceOfAFile) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
    ASSERT_NE(file, nullptr);
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += static_cast<char>('a' + i % 26);
    ASSERT_EQ(std::fwrite(text.data(), 1, text.size(), file.get()), text.size());
    ASSERT_EQ(std::fflush(file.get()), 0);
    rt().run([&] {
        wait_group reader;
        std::string got(text.size() - 5, ' ');
        reader.go([&] { EXPECT_EQ(far_.read(got), got.size()); });
        EXPECT_EQ(near_.sendfile(::fileno(file.get()), 5, text.size()), text.size() - 5) << "it ends before";
        reader.wait();
        EXPECT_EQ(got, text.substr(5));
        std::error_code ec;
        EXPECT_EQ(near_.sendfile(-1, 0, 1, ec), 0U);
        EXPECT_EQ(ec, std::errc::bad_file_descriptor);
    });
}

TEST_P(TcpCalls, ZeroByteCallsReturnZero) {
    rt().run([&] {
        char none[1];
        EXPECT_EQ(near_.read_some(mutable_buffer(none, 0)), 0U);
        EXPECT_EQ(near_.read(mutable_buffer(none, 0)), 0U);
        EXPECT_EQ(near_.write_some(const_buffer(none, 0)), 0U);
        EXPECT_EQ(near_.write_all(""), 0U) << "a literal has no byte more than it shows";
        EXPECT_EQ(near_.write_some("x"), 1U);
        EXPECT_EQ(far_.read_some(none), 1U);
    });
}

TEST_P(TcpCalls, OptionsReachTheSocket) {
    EXPECT_NE(option_of(near_.native_handle(), IPPROTO_TCP, TCP_NODELAY), 0);
    EXPECT_NE(option_of(far_.native_handle(), IPPROTO_TCP, TCP_NODELAY), 0);
    near_.set_no_delay(false);
    EXPECT_EQ(option_of(near_.native_handle(), IPPROTO_TCP, TCP_NODELAY), 0);
    near_.set_keep_alive(true, 20s, 5s, 3);
    EXPECT_NE(option_of(near_.native_handle(), SOL_SOCKET, SO_KEEPALIVE), 0);
    EXPECT_EQ(option_of(near_.native_handle(), IPPROTO_TCP, TCP_KEEPIDLE), 20);
    EXPECT_EQ(option_of(near_.native_handle(), IPPROTO_TCP, TCP_KEEPINTVL), 5);
    EXPECT_EQ(option_of(near_.native_handle(), IPPROTO_TCP, TCP_KEEPCNT), 3);
    near_.set_keep_alive(false);
    EXPECT_EQ(option_of(near_.native_handle(), SOL_SOCKET, SO_KEEPALIVE), 0);
    EXPECT_THROW(near_.set_keep_alive(true, 0s), std::system_error);
    EXPECT_EQ(near_.local_endpoint(), far_.remote_endpoint());
    EXPECT_EQ(near_.remote_endpoint(), listener_.local_endpoint());
}

TEST_P(TcpCalls, AReleasedSocketIsAdoptedAgain) {
    const int fd = near_.release();
    ASSERT_GE(fd, 0);
    EXPECT_FALSE(near_.is_open());
    EXPECT_EQ(near_.release(), -1);
    ASSERT_EQ(::fcntl(fd, F_SETFL, 0), 0);  // as another program may leave it
    near_ = tcp_stream::adopt(fd);
    EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    rt().run([&] {
        wait_group reader;
        char b[1];
        reader.go([&] { EXPECT_EQ(near_.read_some(b), 1U); });
        far_.write_all("x");
        reader.wait();
    });
    EXPECT_THROW(static_cast<void>(tcp_stream::adopt(-1)), std::system_error);
}

TEST_P(TcpCalls, AClosedSocketFailsEveryCall) {
    tcp_stream none;
    std::error_code ec;
    char b[1];
    EXPECT_FALSE(none.is_open());
    EXPECT_EQ(none.read_some(b, ec), 0U);
    EXPECT_EQ(ec, errc::closed);
    EXPECT_EQ(ec, std::errc::bad_file_descriptor);
    EXPECT_EQ(none.write_all("x", ec), 0U);
    EXPECT_EQ(ec, errc::closed);
    none.shutdown_send(ec);
    EXPECT_EQ(ec, errc::closed);
    EXPECT_THROW(static_cast<void>(none.local_endpoint()), std::system_error);
    EXPECT_THROW(none.set_no_delay(true), std::system_error);
    EXPECT_THROW(static_cast<void>(tcp_listener().accept()), std::system_error);
    none.close();
    EXPECT_EQ(none.release(), -1);
}

TEST_P(TcpCalls, WritingToAClosedPeerIsAnErrorAndNoSignal) {
    far_.close();
    rt().run([&] {
        std::error_code ec;
        while (!ec) near_.write_all("x", ec);  // the first ones reach the peer, which reports that it has gone
        EXPECT_TRUE(ec == std::errc::broken_pipe || ec == std::errc::connection_reset) << ec.message();
    });
}

TEST_P(TcpCalls, ShutdownReceiveEndsARead) {
    rt().run([&] {
        wait_group reader;
        char b[1];
        reader.go([&] { EXPECT_EQ(near_.read_some(b), 0U); });
        while (stats().waiting == 0) yield();
        near_.shutdown_receive();
        reader.wait();
    });
}

// A read ends before the urgent byte, which does not mean that there is no data behind it.
TEST_P(TcpCalls, UrgentDataHidesNoLaterBytes) {
    rt().run([&] {
        for (int round = 0; round < 50; ++round) {
            wait_group reader;
            const auto read_all = [&] {
                char got[6] = {};
                EXPECT_EQ(near_.read(got), 6U);
                EXPECT_EQ(std::string(got, 6), "abcdef");
            };
            if (round % 3 == 0) reader.go(read_all);
            if (round % 3 == 0) yield();  // the reader may wait already
            EXPECT_EQ(::send(far_.native_handle(), "abc", 3, 0), 3);
            if (round % 3 == 1) reader.go(read_all);
            if (round % 2 == 0) yield();
            EXPECT_EQ(::send(far_.native_handle(), "u", 1, MSG_OOB), 1);
            if (round % 4 < 2) yield();
            EXPECT_EQ(::send(far_.native_handle(), "def", 3, 0), 3);
            if (round % 3 == 2) reader.go(read_all);
            reader.wait();
        }
    });
}

TEST_P(TcpCalls, TwoListenersMayShareAPort) {
    const tcp_listener first(endpoint::loopback(0), {.reuse_port = true});
    const tcp_listener second(first.local_endpoint(), {.reuse_port = true});
    EXPECT_EQ(first.local_endpoint(), second.local_endpoint());
    try {
        const tcp_listener third(listener_.local_endpoint());
        FAIL();
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::address_in_use);
        EXPECT_NE(std::string(e.what()).find(listener_.local_endpoint().to_string()), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("choose another port"), std::string::npos) << e.what();
    }
}

TEST_P(TcpCalls, SeveralListenersShareTheConnections) {
    constexpr int connections = 64;
    rt().run([&] {
        std::vector<tcp_listener> all = tcp_listener::several(endpoint::loopback(0));
        ASSERT_EQ(all.size(), rt().procs());
        std::atomic<int> accepted = 0;
        wait_group serving;
        for (tcp_listener& l : all) {
            EXPECT_EQ(l.local_endpoint(), all.front().local_endpoint());
            serving.go([&] {
                std::error_code ec;
                for (;;) {
                    const tcp_stream s = l.accept(ec);
                    if (ec) break;
                    ++accepted;
                }
                EXPECT_EQ(ec, errc::closed);
            });
        }
        for (int i = 0; i < connections; ++i) {
            tcp_stream c = tcp_stream::connect(all.front().local_endpoint());
            char text[1];
            EXPECT_EQ(c.read_some(text), 0U);  // it was accepted, and closed
        }
        for (tcp_listener& l : all) l.close();
        serving.wait();
        EXPECT_EQ(accepted, connections);
    });
}

}  // namespace
}  // namespace weft::test
