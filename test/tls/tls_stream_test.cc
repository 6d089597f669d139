// tls_stream_test.cc: a TLS stream with data, deadlines and waiting threads.

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/net/tcp.h>
#include <weft/tls/stream.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/scale.h"
#include "tls/tls_pair.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::const_buffer;
using net::mutable_buffer;
using tls::stream;

using TlsStream = tls_test;
WEFT_SWEEP(TlsStream);

void echo(stream& s) {
    char text[4096];
    while (const std::size_t n = s.read_some(text)) s.write_all(const_buffer(text, n));
    s.shutdown_send();
}

TEST_P(TlsStream, EchoReturnsTheSentBytes) {
    rt().run([&] {
        wait_group far;
        far.go([&] { echo(pair_.server); });
        for (int i = 0; i < scaled(200); ++i) {
            const std::string sent = "message " + std::to_string(i);
            pair_.client.write_all(sent);
            std::string got(sent.size(), ' ');
            ASSERT_EQ(pair_.client.read(got), sent.size());
            ASSERT_EQ(got, sent);
        }
        pair_.client.shutdown_send();
        char more[1];
        EXPECT_EQ(pair_.client.read_some(more), 0U);
        EXPECT_EQ(pair_.client.read_some(more), 0U) << "and the end stays the end";
        far.wait();
    });
}

// More than the system buffers: both sides have to read and write at the same time.
TEST_P(TlsStream, TransfersMuchDataInBothDirections) {
    rt().run([&] {
        const auto size = static_cast<std::size_t>(scaled(4 << 20));
        const auto at = [](char seed, std::size_t i) { return static_cast<char>(seed + static_cast<char>(i % 61)); };
        const auto exchange = [&](stream& s, char seed, char other) {
            wait_group both;
            both.go([&] {
                std::string text(size, ' ');
                for (std::size_t i = 0; i < size; ++i) text[i] = at(seed, i);
                s.write_all(text);
                s.shutdown_send();
            });
            std::string got(size + 1, ' ');
            EXPECT_EQ(s.read(got), size);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < size; ++i) wrong += got[i] != at(other, i) ? 1 : 0;
            EXPECT_EQ(wrong, 0U);
            both.wait();
        };
        wait_group all;
        all.go([&] { exchange(pair_.server, 'a', 'b'); });
        exchange(pair_.client, 'b', 'a');
        all.wait();
    });
}

TEST_P(TlsStream, ManyConnectionsWorkAtOnce) {
    rt().run([&] {
        net::tcp_listener listener(net::endpoint::loopback(0));
        const int connections = scaled(40);
        wait_group servers;
        wait_group clients;
        servers.go([&] {
            for (int i = 0; i < connections; ++i) {
                servers.go([&, s = stream::server(listener.accept(), serving_)]() mutable { echo(s); });
            }
        });
        std::atomic<int> answers = 0;
        for (int c = 0; c < connections; ++c) {
            clients.go([&, c] {
                stream s = stream::connect(listener.local_endpoint(), "example.test", trusting_);
                for (int i = 0; i < 20; ++i) {
                    const std::string sent = std::to_string(c) + ':' + std::to_string(i);
                    s.write_all(sent);
                    std::string got(sent.size(), ' ');
                    ASSERT_EQ(s.read(got), sent.size());
                    ASSERT_EQ(got, sent);
                    ++answers;
                }
                s.shutdown_send();
            });
        }
        clients.wait();
        servers.wait();
        EXPECT_EQ(answers, 20 * connections);
    });
}

TEST_P(TlsStream, VectoredCallsTransferSeveralBuffers) {
    rt().run([&] {
        std::vector<std::string> pieces;
        std::string whole;
        for (int i = 0; i < 150; ++i) {
            pieces.push_back(i % 10 == 0 ? std::string()
                             : i == 77   ? std::string(50'000, 'x')
                                         : std::to_string(i) + ' ');
            whole += pieces.back();
        }
        const std::vector<const_buffer> from(pieces.begin(), pieces.end());
        wait_group reader;
        std::string got(whole.size(), ' ');
        reader.go([&] { EXPECT_EQ(pair_.server.read(got), got.size()); });
        EXPECT_EQ(pair_.client.writev_all(from), whole.size());
        reader.wait();
        EXPECT_EQ(got, whole);
        EXPECT_EQ(pair_.client.writev_all({}), 0U);
        const std::array<const_buffer, 2> empty{const_buffer(""), const_buffer("")};
        EXPECT_EQ(pair_.client.writev_all(empty), 0U);
    });
}

TEST_P(TlsStream, ZeroByteCallsReturnZero) {
    rt().run([&] {
        char none[1];
        EXPECT_EQ(pair_.client.read_some(mutable_buffer(none, 0)), 0U);
        EXPECT_EQ(pair_.client.read(mutable_buffer(none, 0)), 0U);
        EXPECT_EQ(pair_.client.write_some(const_buffer(none, 0)), 0U);
        EXPECT_EQ(pair_.client.write_all(""), 0U);
        EXPECT_EQ(pair_.client.write_some("x"), 1U);
        EXPECT_EQ(pair_.server.read_some(none), 1U);
        const std::string much(100'000, 'y');
        EXPECT_EQ(pair_.client.write_some(much), 16384U) << "what goes into a record";
    });
}

TEST_P(TlsStream, AnEmptyStreamFailsEveryCall) {
    stream none;
    std::error_code ec;
    char b[1];
    EXPECT_FALSE(none.is_open());
    EXPECT_EQ(none.read_some(b, ec), 0U);
    EXPECT_EQ(ec, weft::errc::closed);
    EXPECT_EQ(none.write_all("x", ec), 0U);
    EXPECT_EQ(ec, weft::errc::closed);
    none.shutdown_send(ec);
    EXPECT_EQ(ec, weft::errc::closed);
    none.handshake(ec);
    EXPECT_EQ(ec, weft::errc::closed);
    EXPECT_THROW(none.handshake(), std::system_error);
    EXPECT_EQ(none.protocol() + none.cipher() + none.peer() + none.asked_host() + none.failure(), "");
    EXPECT_EQ(none.native_handle(), -1);
    none.clear_deadline();
    none.close();
}

TEST_P(TlsStream, CloseEndsReadsAndWrites) {
    std::atomic<int> closed = 0;
    const auto expect_closed = [&](auto call) {
        std::error_code ec;
        call(ec);
        EXPECT_EQ(ec, weft::errc::closed);
        ++closed;
    };
    const std::string much(std::size_t{64} << 20, 'x');
    char b[1];
    park(2, [&] {
        rt().go([&] { expect_closed([&](std::error_code& ec) { static_cast<void>(pair_.client.read_some(b, ec)); }); });
        rt().go([&] { expect_closed([&](std::error_code& ec) { pair_.client.write_all(much, ec); }); });
    });
    pair_.client.close();  // by a plain thread
    rt().drain();
    EXPECT_EQ(closed, 2);
    EXPECT_FALSE(pair_.client.is_open());
    pair_.client.close();
}

// A concurrent reader does not keep close() from sending close_notify.
TEST_P(TlsStream, CloseSendsCloseNotify) {
    rt().run([&] {
        wait_group reader;
        std::error_code why;
        char b[2];
        reader.go([&] { static_cast<void>(pair_.server.read_some(b, why)); });
        while (stats().waiting == 0) yield();
        pair_.client.write_all("x");
        pair_.server.close();
        reader.wait();
        EXPECT_EQ(pair_.client.read(b), 0U);
    });
}

TEST_P(TlsStream, ACutConnectionIsReportedAsTruncated) {
    rt().run([&] {
        pair_.server.write_all("all of i");
        pair_.server = stream();  // as if the program had given up
        std::string got(100, ' ');
        std::error_code ec;
        EXPECT_EQ(pair_.client.read(got, ec), 8U) << "what came before can be read";
        EXPECT_EQ(ec, tls::errc::truncated);
        EXPECT_EQ(pair_.client.read(got, ec), 0U);
        EXPECT_EQ(ec, tls::errc::truncated);
        try {
            static_cast<void>(pair_.client.read_some(got));
            FAIL();
        } catch (const std::system_error& e) {
            EXPECT_NE(std::string(e.what()).find("the data may be incomplete"), std::string::npos) << e.what();
        }
    });
}

TEST_P(TlsStream, AfterShutdownSendTheOtherDirectionContinues) {
    rt().run([&] {
        pair_.client.write_all("the last word");
        pair_.client.shutdown_send();
        pair_.client.shutdown_send();
        std::error_code ec;
        EXPECT_EQ(pair_.client.write_all("x", ec), 0U);
        EXPECT_EQ(ec, std::errc::broken_pipe);
        std::string got(100, ' ');
        EXPECT_EQ(pair_.server.read(got), 13U);
        pair_.server.write_all("and an answer");
        pair_.server.shutdown_send();
        EXPECT_EQ(pair_.client.read(got), 13U);
        EXPECT_EQ(got.substr(0, 13), "and an answer");
    });
}

TEST_P(TlsStream, DeadlinesApplyToCurrentWaits) {
    rt().run([&] {
        stream& s = pair_.client;
        std::error_code ec;
        char b[1];
        s.set_read_deadline(std::chrono::steady_clock::now() + 5ms);
        EXPECT_EQ(s.read_some(b, ec), 0U);
        EXPECT_EQ(ec, weft::errc::timed_out);
        s.set_write_deadline(std::chrono::steady_clock::now() - 1s);
        EXPECT_EQ(s.write_all("x", ec), 0U) << "although there is room";
        EXPECT_EQ(ec, weft::errc::timed_out);
        EXPECT_THROW(s.write_all("x"), std::system_error);
        s.clear_deadline();
        wait_group reader;
        reader.go([&] {
            std::error_code why;
            EXPECT_EQ(s.read_some(b, why), 0U);
            EXPECT_EQ(why, weft::errc::timed_out);
        });
        while (stats().waiting == 0) yield();
        s.set_read_deadline(std::chrono::steady_clock::now() - 1s);
        reader.wait();
        s.clear_deadline();
        pair_.server.write_all("yz");
        EXPECT_EQ(s.read_some(b), 1U) << "and it goes on working";
        EXPECT_EQ(b[0], 'y');
        s.set_read_deadline(std::chrono::steady_clock::now() - 1s);
        EXPECT_EQ(s.read_some(b, ec), 0U) << "although there is one, decrypted";
        EXPECT_EQ(ec, weft::errc::timed_out);
        s.clear_deadline();
        EXPECT_EQ(s.read_some(b), 1U);
        EXPECT_THROW(with_timeout(3ms, [&] { static_cast<void>(s.read_some(b)); }), timed_out);
        with_timeout(3ms, [&] { static_cast<void>(s.read_some(b, ec)); });
        EXPECT_EQ(ec, weft::errc::timed_out);
    });
}

// The next write sends what was encrypted before the deadline: nothing is lost or duplicated.
TEST_P(TlsStream, AnInterruptedWriteCanBeContinued) {
    rt().run([&] {
        std::string text(std::size_t{16} << 20, ' ');
        for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
        std::error_code ec;
        pair_.client.set_write_deadline(std::chrono::steady_clock::now() + 20ms);
        std::size_t done = pair_.client.write_all(text, ec);
        EXPECT_EQ(ec, weft::errc::timed_out);
        EXPECT_LT(done, text.size());
        pair_.client.clear_deadline();
        std::string got(text.size(), ' ');
        wait_group reader;
        reader.go([&] { EXPECT_EQ(pair_.server.read(got), got.size()); });
        done += pair_.client.write_all(const_buffer(text.data() + done, text.size() - done));
        EXPECT_EQ(done, text.size());
        reader.wait();
        EXPECT_TRUE(got == text);
    });
}

TEST_P(TlsStream, ACancelledScopeEndsBothDirections) {
    rt().run([&] {
        const std::string much(std::size_t{64} << 20, 'x');
        std::atomic<int> ended = 0;
        const auto expect_cancelled = [&](auto call) {
            try {
                call();
                ADD_FAILURE();
            } catch (const cancelled&) {
                ++ended;
                throw;
            }
        };
        scope([&](task_scope& s) {
            char b[1];
            s.go([&] { expect_cancelled([&] { static_cast<void>(pair_.client.read_some(b)); }); });
            s.go([&] {
                expect_cancelled([&] { static_cast<void>(pair_.client.read_some(b)); });
            });  // waits until the other writer is done
            s.go([&] { expect_cancelled([&] { pair_.client.write_all(much); }); });
            s.go([&] { expect_cancelled([&] { pair_.client.write_all(much); }); });
            while (stats().waiting < 4) yield();
            s.cancel();
        });
        EXPECT_EQ(ended, 4);
        EXPECT_TRUE(pair_.client.is_open());
    });
}

TEST_P(TlsStream, PlainThreadsMayCall) {
    std::thread server([&] { echo(pair_.server); });
    rt().run([&] {
        for (int i = 0; i < 20; ++i) {
            pair_.client.write_all("hello");
            char got[5];
            EXPECT_EQ(pair_.client.read(got), 5U);
            sleep_for(200us);
        }
        pair_.client.shutdown_send();
    });
    server.join();
}

// Several threads write, and each message stays whole. A writer does not hold the connection while
// it waits for the peer.
TEST_P(TlsStream, ConcurrentWritesAreNotInterleaved) {
    rt().run([&] {
        constexpr std::size_t size = 40'000;
        const int writers = 8;
        wait_group all;
        for (int w = 0; w < writers; ++w) {
            all.go([&, w] {
                for (int i = 0; i < 5; ++i) pair_.client.write_all(std::string(size, static_cast<char>('a' + w)));
            });
        }
        std::string got(size, ' ');
        for (int i = 0; i < writers * 5; ++i) {
            ASSERT_EQ(pair_.server.read(got), size);
            ASSERT_EQ(got.find_first_not_of(got[0]), std::string::npos);
        }
        all.wait();
    });
}

TEST_P(TlsStream, MoveAndAssignmentTransferTheConnection) {
    rt().run([&] {
        stream s = std::move(pair_.client);
        EXPECT_FALSE(pair_.client.is_open());  // NOLINT(bugprone-use-after-move): it is none by now
        s.write_all("x");
        char b[1];
        EXPECT_EQ(pair_.server.read(b), 1U);
        pair_.client = std::move(s);
        pair_.client.write_all("y");
        EXPECT_EQ(pair_.server.read(b), 1U);
    });
}

}  // namespace
}  // namespace weft::test
