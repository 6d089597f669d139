// net_close_test.cc: how connections end: closed locally, ended or reset by the peer, while others
// read, write, accept and send.

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/connections.h"
#include "support/eventually.h"
#include "support/outside_poller.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/sigpipe_counter.h"
#include "support/units.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::const_buffer;
using net::mutable_buffer;

using unique_file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// A file of `size` bytes 'x'.
unique_file file_of(std::size_t size) {
    unique_file file(std::tmpfile(), &std::fclose);
    const std::string text(size, 'x');
    EXPECT_EQ(std::fwrite(text.data(), 1, size, file.get()), size);
    EXPECT_EQ(std::fflush(file.get()), 0);
    return file;
}

class NetClose : public procs_test {
protected:
    static void SetUpTestSuite() { open_outside_poller(); }

    void TearDown() override {
        EXPECT_EQ(sigpipes_.count(), 0) << "SIGPIPE never comes";
        procs_test::TearDown();
    }

    // Makes each of `calls`, which wait, in its own green thread. One call of end() must end all of
    // them, with ended(ec) true.
    template <typename End, typename Ended, typename... Calls>
    void expect_all_end(End end, Ended ended, Calls... calls) {
        std::array<std::error_code, sizeof...(calls)> errors;
        park(sizeof...(calls), [&] {
            std::size_t i = 0;
            (rt().go([call = calls, &ec = errors[i++]] { call(ec); }), ...);
        });
        end();
        rt().drain();
        for (std::size_t i = 0; i < errors.size(); ++i)
            EXPECT_TRUE(ended(errors[i])) << i << ": " << errors[i].message();
    }

    sigpipe_counter sigpipes_;
};

WEFT_SWEEP_OVER(NetClose, 1U, 2U, 4U);

bool is_closed(const std::error_code& ec) { return ec == errc::closed; }

// All ways to read from s.
template <typename Stream>
auto ways_to_read(Stream& s) {
    return std::tuple(
        [&s](std::error_code& ec) {
            char b[8];
            EXPECT_EQ(s.read_some(b, ec), 0U);
        },
        [&s](std::error_code& ec) {
            char b[8];
            EXPECT_EQ(s.read(b, ec), 0U);
        },
        [&s](std::error_code& ec) {
            char b[8];
            const std::array<mutable_buffer, 2> list{mutable_buffer(b, 2), mutable_buffer(b, 6)};
            EXPECT_EQ(s.readv_some(list, ec), 0U);
        });
}

// All ways to write more to s than there is room for. `file` has enough data.
template <typename Stream>
auto ways_to_write(Stream& s, const std::string& much, int file) {
    return std::tuple(
        [&s, &much](std::error_code& ec) { EXPECT_LT(s.write_all(much, ec), much.size()); },
        [&s, &much](std::error_code& ec) {
            while (!ec) static_cast<void>(s.write_some(much, ec));
        },
        [&s, &much](std::error_code& ec) {
            const std::array<const_buffer, 2> list{const_buffer(much), const_buffer(much)};
            EXPECT_LT(s.writev_all(list, ec), 2 * much.size());
        },
        [&s, &much, file](std::error_code& ec) { EXPECT_LT(s.sendfile(file, 0, much.size(), ec), much.size()); });
}

TEST_P(NetClose, CloseEndsEveryReadAndWrite) {
    const std::string much(8 * mib, 'x');
    const unique_file file = file_of(much.size());
    over_streams([&](auto over) {
        for (const bool by_plain_thread : {true, false}) {
            connection c(over);
            make_buffers_small(c.near);
            make_buffers_small(c.far);
            std::apply(
                [&](auto... calls) {
                    expect_all_end([&] { by_plain_thread ? c.near.close() : rt().run([&] { c.near.close(); }); },
                                   is_closed, calls...);
                },
                std::tuple_cat(ways_to_read(c.near), ways_to_write(c.near, much, ::fileno(file.get()))));
        }
    });
}

// A file is sent in steps, and the peer may go away between two of them.
TEST_P(NetClose, APeerThatClosesDuringSendFileRaisesNoSignal) {
    const unique_file file = file_of(8 * mib);
    for (int i = 0; i < scaled(100); ++i) {
        auto [near, far] = net::unix_stream::pair();
        const int room = 4 << 20;
        ASSERT_EQ(::setsockopt(near.native_handle(), SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
        std::thread goes([&, &end = far] {
            std::this_thread::sleep_for(std::chrono::microseconds(i));
            end.close();
        });
        std::error_code ec;
        EXPECT_LT(near.sendfile(::fileno(file.get()), 0, 8 * mib, ec), 8 * mib);
        EXPECT_EQ(ec, std::errc::broken_pipe);
        goes.join();
    }
    EXPECT_EQ(sigpipes_.count(), 0);
}

TEST_P(NetClose, CloseEndsEveryAcceptReceiveAndSend) {
    over_streams([&](auto over) {
        auto listener = over.listen();
        const auto accept = [&](std::error_code& ec) { EXPECT_FALSE(listener.accept(ec).is_open()); };
        expect_all_end([&] { listener.close(); }, is_closed, accept, accept, accept);
    });
    over_datagrams([&](auto over) {
        datagrams d(over);
        const auto receive = [&](std::error_code& ec) {
            char b[1];
            EXPECT_EQ(d.near.receive(b, ec).size, 0U);
        };
        expect_all_end([&] { d.near.close(); }, is_closed, receive, receive, receive);
    });
    datagrams d((over_unix_datagrams()));
    const auto send = [&](std::error_code& ec) {
        while (!ec) d.near.send("x", ec);
    };
    expect_all_end([&] { d.near.close(); }, is_closed, send, send);
}

// The waiters are in another runtime, and in a plain thread.
TEST_P(NetClose, CloseEndsWaitsOfOtherRuntimesAndPlainThreads) {
    runtime other({.procs = 1});
    over_streams([&](auto over) {
        connection c(over);
        std::array<std::error_code, 3> errors;
        const auto read = [&](std::error_code& ec) {
            char b[1];
            EXPECT_EQ(c.near.read_some(b, ec), 0U);
        };
        const uint64_t parks = other.stats().parks;
        other.go([&] { read(errors[0]); });
        eventually([&] { return other.stats().parks > parks; });
        park(1, [&] { rt().go([&] { read(errors[1]); }); });
        std::thread plain([&] { read(errors[2]); });
        c.near.close();  // the plain thread may or may not wait by now
        plain.join();
        rt().drain();
        other.drain();
        for (const std::error_code& ec : errors) EXPECT_TRUE(is_closed(ec)) << ec.message();
    });
}

TEST_P(NetClose, AllSentBytesAreReadBeforeTheEnd) {
    rt().run([] {
        over_streams([](auto over) {
            for (const bool shut_down : {true, false}) {
                connection c(over);
                const std::string all = secret_bytes(7, 0, 3 * mib);
                wait_group writer;
                writer.go([&] {
                    c.far.write_all(all);
                    shut_down ? c.far.shutdown_send() : c.far.close();
                });
                std::string got(all.size() + 1, ' ');
                EXPECT_EQ(c.near.read(got), all.size());
                EXPECT_TRUE(are_secret_bytes(got.data(), all.size(), 7, 0));
                writer.wait();
                for (int i = 0; i < 3; ++i) EXPECT_EQ(c.near.read_some(got), 0U);
                if (!shut_down) continue;
                EXPECT_EQ(c.near.write_all("the other direction"), 19U);
                EXPECT_EQ(c.far.read(mutable_buffer(got.data(), 19)), 19U);
            }
        });
    });
}

TEST_P(NetClose, TheEndOfStreamWakesAllReaders) {
    over_streams([&](auto over) {
        connection c(over);
        std::apply(
            [&](auto... calls) {
                expect_all_end([&] { c.far.shutdown_send(); }, [](auto ec) { return !ec; }, calls..., calls...);
            },
            ways_to_read(c.near));
    });
}

bool is_reset(const std::error_code& ec) { return ec == std::errc::connection_reset || ec == std::errc::broken_pipe; }

// A reset is an error of reads and of writes. One call reports it; the others report broken_pipe or
// the end.
TEST_P(NetClose, AResetEndsAReadOrAWrite) {
    const std::string much(8 * mib, 'x');
    const unique_file file = file_of(much.size());
    connection first((over_tcp()));
    expect_all_end(
        [&] {
            reset_on_close(first.far);
            first.far.close();
        },
        [](const std::error_code& ec) { return ec == std::errc::connection_reset; },
        std::get<0>(ways_to_read(first.near)));
    connection second((over_tcp()));
    std::apply(
        [&](auto... calls) {
            expect_all_end(
                [&] {
                    reset_on_close(second.far);
                    second.far.close();
                },
                is_reset, calls...);
        },
        ways_to_write(second.near, much, ::fileno(file.get())));
    connection third((over_tcp()));
    std::apply(
        [&](auto... calls) {
            expect_all_end(
                [&] {
                    reset_on_close(third.far);
                    third.far.close();
                },
                [](const std::error_code& ec) { return !ec || is_reset(ec); }, calls...);
        },
        std::tuple_cat(ways_to_read(third.near), ways_to_write(third.near, much, ::fileno(file.get()))));
}

// With unread bytes left, the system resets a TCP connection, too. A Unix connection reports that
// the peer has gone.
TEST_P(NetClose, APeerThatClosesEndsAWrite) {
    const std::string much(8 * mib, 'x');
    const unique_file file = file_of(much.size());
    over_streams([&](auto over) {
        connection c(over);
        std::apply([&](auto... calls) { expect_all_end([&] { c.far.close(); }, is_reset, calls...); },
                   ways_to_write(c.near, much, ::fileno(file.get())));
    });
}

template <typename Stream>
void write_in_all_ways(Stream& s, int file) {
    const std::array<const_buffer, 2> list{const_buffer("x"), const_buffer("y")};
    std::error_code ec;
    eventually([&] {
        s.write_all("x", ec);  // the first ones reach the peer, which reports that it has gone
        return static_cast<bool>(ec);
    });
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(s.write_all("x", ec), 0U);
        EXPECT_EQ(ec, std::errc::broken_pipe);
        EXPECT_EQ(s.write_some("x", ec), 0U);
        EXPECT_EQ(ec, std::errc::broken_pipe);
        EXPECT_EQ(s.writev_all(list, ec), 0U);
        EXPECT_EQ(ec, std::errc::broken_pipe);
        EXPECT_EQ(s.sendfile(file, 0, 10, ec), 0U);
        EXPECT_EQ(ec, std::errc::broken_pipe);
    }
    EXPECT_THROW(s.write_all("x"), std::system_error);
}

// No call raises SIGPIPE, in green threads or in plain ones.
TEST_P(NetClose, NoCallRaisesSigpipe) {
    const unique_file file = file_of(100);
    over_streams([&](auto over) {
        for (const bool by_plain_thread : {true, false}) {
            connection c(over);
            c.far.close();
            const auto write = [&] { write_in_all_ways(c.near, ::fileno(file.get())); };
            by_plain_thread ? write() : rt().run(write);
        }
    });
    connection c((over_unix()));
    c.far.close();
    const std::array<int, 1> files{::fileno(file.get())};
    EXPECT_THROW(c.near.send_files("x", files), std::system_error);
    datagrams d((over_unix_datagrams()));
    d.far.close();
    EXPECT_THROW(d.near.send("x"), std::system_error);
    // This holds after a local shutdown, too.
    over_streams([&](auto over) {
        connection own(over);
        own.near.shutdown_send();
        write_in_all_ways(own.near, ::fileno(file.get()));
    });
}

// A SIGPIPE that was pending for the program is still pending.
TEST_P(NetClose, APendingSigpipeOfTheProgramStaysPending) {
    const unique_file file = file_of(100);
    std::thread plain([&] {
        connection c((over_tcp()));
        c.far.close();
        const sigpipe_blocked blocked;
        blocked.raise();
        write_in_all_ways(c.near, ::fileno(file.get()));
        EXPECT_TRUE(blocked.take()) << "it was the program's";
        EXPECT_FALSE(blocked.take()) << "it was one";
        write_in_all_ways(c.near, ::fileno(file.get()));
        EXPECT_FALSE(blocked.take()) << "nobody has raised it";
    });
    plain.join();
}

TEST_P(NetClose, AListenersPortIsFreeAtOnce) {
    for (int i = 0; i < 20; ++i) {
        rt().run([] {
            net::tcp_listener first(net::endpoint::loopback(0));
            const net::endpoint at = first.local_endpoint();
            auto taken = net::tcp_stream::connect(at);
            auto accepted = first.accept();
            auto waiting = net::tcp_stream::connect(at);  // in the queue
            wait_group accepters;
            accepters.go([&] {
                std::error_code ec;
                static_cast<void>(first.accept(ec));  // that one, or none
                EXPECT_TRUE(!ec || is_closed(ec));
                static_cast<void>(first.accept(ec));
                EXPECT_TRUE(is_closed(ec));
            });
            first.close();
            accepters.wait();
            first.close();
            std::error_code ec;
            static_cast<void>(net::tcp_stream::connect(at, ec));
            EXPECT_EQ(ec, std::errc::connection_refused);
            char b[1];
            EXPECT_EQ(waiting.read_some(b, ec), 0U);  // its other end has gone
            EXPECT_TRUE(!ec || is_reset(ec)) << ec.message();
            accepted.write_all("x");
            EXPECT_EQ(taken.read_some(b), 1U) << "those that were accepted stay";
            net::tcp_listener second(at);
            auto again = net::tcp_stream::connect(at);
            EXPECT_TRUE(second.accept().is_open());
        });
    }
}

TEST_P(NetClose, AConnectionResetBeforeAcceptIsNoError) {
    rt().run([] {
        auto listener = over_tcp::listen();
        for (int i = 0; i < 20; ++i) {
            auto gone = over_tcp::connect(listener);
            reset_on_close(gone);
            gone.close();
        }
        auto stays = over_tcp::connect(listener);
        stays.write_all("x");
        std::error_code ec;
        char b[1];
        std::size_t n = 0;
        for (int accepted = 0; n == 0; ++accepted) {
            ASSERT_LE(accepted, 20);
            auto far = listener.accept();
            n = far.read_some(b, ec);
        }
        EXPECT_EQ(b[0], 'x');
    });
}

TEST_P(NetClose, CallsAfterCloseFail) {
    rt().run([] {
        over_streams([](auto over) {
            connection c(over);
            c.near.close();
            c.near.close();
            std::error_code ec;
            char b[1];
            EXPECT_EQ(c.near.read_some(mutable_buffer(b, 0), ec), 0U);
            EXPECT_EQ(ec, errc::closed) << "also if there is nothing to read into";
            EXPECT_EQ(c.near.write_all("", ec), 0U);
            EXPECT_EQ(ec, errc::closed);
            EXPECT_EQ(c.near.sendfile(0, 0, 0, ec), 0U);
            EXPECT_EQ(ec, errc::closed);
            c.near.shutdown_receive(ec);
            EXPECT_EQ(ec, errc::closed);
            c.near.set_deadline(std::chrono::steady_clock::now());
            EXPECT_EQ(c.near.read_some(b, ec), 0U);
            EXPECT_EQ(ec, errc::closed) << "and not that the time is up";
            EXPECT_EQ(c.far.read_some(b), 0U);
        });
    });
}

TEST_P(NetClose, ZeroByteCallsDoNotWait) {
    rt().run([] {
        over_streams([](auto over) {
            connection c(over);
            char b[1];
            for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(c.near.read_some(mutable_buffer(b, 0)), 0U);
                EXPECT_EQ(c.near.read(mutable_buffer(nullptr, 0)), 0U);
                EXPECT_EQ(c.near.write_all(const_buffer(nullptr, 0)), 0U);
                EXPECT_EQ(c.near.write_some(""), 0U);
                const std::array<mutable_buffer, 2> list{mutable_buffer(b, 0), mutable_buffer(nullptr, 0)};
                EXPECT_EQ(c.near.readv_some(list), 0U);
                EXPECT_EQ(c.near.writev_all({}), 0U);
            }
            c.far.write_all("x");
            EXPECT_EQ(c.near.read_some(mutable_buffer(b, 0)), 0U) << "it is still there";
            EXPECT_EQ(c.near.read_some(b), 1U);
        });
        over_datagrams([](auto over) {
            datagrams d(over);
            d.near.send("");
            d.near.send("x");
            char b[1];
            EXPECT_EQ(d.far.receive(b).size, 0U) << "an empty datagram is one";
            const auto second = d.far.receive(mutable_buffer(b, 0));
            EXPECT_TRUE(second.cut);
        });
    });
}

}  // namespace
}  // namespace weft::test
