// net_deadline_test.cc: deadlines of sockets that are past, immediate or in the future, for each
// call.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "os/fd_calls.h"
#include "support/connections.h"
#include "support/descriptor_of.h"
#include "support/outside_poller.h"
#include "support/pending_timers.h"
#include "support/procs_test.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::const_buffer;
using net::mutable_buffer;
using steady = std::chrono::steady_clock;

class NetDeadline : public procs_test {
protected:
    static void SetUpTestSuite() { open_outside_poller(); }

    void TearDown() override {
        rt().drain();
        EXPECT_EQ(pending_timers(rt()), 0U) << "nobody waits any more";
        procs_test::TearDown();
    }
};

WEFT_SWEEP_OVER(NetDeadline, 1U, 2U, 4U);

// Past, immediate, and some time from now.
constexpr std::array<std::chrono::nanoseconds, 9> times{-1h, -1ns, 0ns, 1ns, 100ns, 10us, 300us, 2ms, 8ms};

// set(when) sets a deadline. call(ec) is a call that cannot make progress.
template <typename Set, typename Call>
void expect_timeouts(Set set, Call call) {
    for (const std::chrono::nanoseconds t : times) {
        const auto when = steady::now() + t;
        set(when);
        std::error_code ec;
        call(ec);
        const auto end = steady::now();
        EXPECT_EQ(ec, errc::timed_out) << t.count() << " ns: " << ec.message();
        EXPECT_GE(end, when) << t.count() << " ns: too early";
    }
}

TEST_P(NetDeadline, EndsAReadWithoutData) {
    rt().run([] {
        over_streams([](auto over) {
            connection c(over);
            const auto set = [&](auto when) { c.near.set_read_deadline(when); };
            char b[8];
            const std::array<mutable_buffer, 2> list{mutable_buffer(b, 3), mutable_buffer(b, 5)};
            expect_timeouts(set, [&](std::error_code& ec) { EXPECT_EQ(c.near.read_some(b, ec), 0U); });
            expect_timeouts(set, [&](std::error_code& ec) { EXPECT_EQ(c.near.read(b, ec), 0U); });
            expect_timeouts(set, [&](std::error_code& ec) { EXPECT_EQ(c.near.readv_some(list, ec), 0U); });
            c.far.write_all("text");
            EXPECT_THROW(static_cast<void>(c.near.read_some(b)), std::system_error) << "it has passed";
            c.near.clear_deadline();
            EXPECT_EQ(c.near.read_some(b), 4U) << "nothing was taken";
        });
    });
}

TEST_P(NetDeadline, ReportsTheBytesReadBefore) {
    rt().run([] {
        over_streams([](auto over) {
            connection c(over);
            c.far.write_all("abc");
            c.near.set_read_deadline(steady::now() + 5ms);
            char b[10] = {};
            std::error_code ec;
            EXPECT_EQ(c.near.read(b, ec), 3U);
            EXPECT_EQ(ec, errc::timed_out);
            EXPECT_EQ(std::string(b, 3), "abc");
            c.near.set_read_deadline(std::chrono::system_clock::now() + 1h);  // another clock
            c.far.write_all("de");
            EXPECT_EQ(c.near.read(mutable_buffer(b, 2), ec), 2U);
            EXPECT_FALSE(ec);
        });
    });
}

// The reported number of written bytes is what the peer receives, before the deadline and after it.
template <typename Over, typename Write>
void expect_writes_are_counted(Over over, Write write) {
    connection c(over);
    make_buffers_small(c.near);
    make_buffers_small(c.far);
    constexpr uint64_t key = 12345;
    const std::string all = secret_bytes(key, 0, std::size_t{8} << 20);
    std::size_t written = 0;
    for (const std::chrono::milliseconds t : {-1ms, 0ms, 3ms, 50ms, 1000ms}) {
        if (written != 0) break;  // the later ones are for slow machines
        const auto when = steady::now() + t;
        c.near.set_write_deadline(when);
        std::error_code ec;
        const std::size_t n = write(c.near, std::string_view(all).substr(written), ec);
        EXPECT_EQ(ec, errc::timed_out) << ec.message();
        EXPECT_GE(steady::now(), when);
        EXPECT_TRUE(n == 0 || t > 0ms) << "it had passed";
        written += n;
    }
    EXPECT_GT(written, 0U);
    ASSERT_LT(written, all.size());
    c.near.clear_deadline();
    c.near.shutdown_send();
    std::string got(all.size(), ' ');
    EXPECT_EQ(c.far.read(got), written);
    EXPECT_TRUE(are_secret_bytes(got.data(), written, key, 0));
}

TEST_P(NetDeadline, EndsAWriteWithoutRoom) {
    rt().run([] {
        over_streams([](auto over) {
            expect_writes_are_counted(
                over, [](auto& s, std::string_view b, std::error_code& ec) { return s.write_all(b, ec); });
            expect_writes_are_counted(over, [](auto& s, std::string_view b, std::error_code& ec) {
                std::vector<const_buffer> pieces;
                for (std::size_t at = 0; at < b.size(); at += 10'007) pieces.emplace_back(b.substr(at, 10'007));
                return s.writev_all(pieces, ec);
            });
            expect_writes_are_counted(over, [](auto& s, std::string_view b, std::error_code& ec) {
                std::size_t sum = 0;
                while (sum != b.size()) {
                    const std::size_t n = s.write_some(b.substr(sum), ec);
                    sum += n;
                    if (ec) break;
                }
                return sum;
            });
        });
    });
}

TEST_P(NetDeadline, EndsASendFileWithoutRoom) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
    ASSERT_NE(file, nullptr);
    const std::string all = secret_bytes(12345, 0, std::size_t{8} << 20);  // as above
    ASSERT_EQ(std::fwrite(all.data(), 1, all.size(), file.get()), all.size());
    ASSERT_EQ(std::fflush(file.get()), 0);
    rt().run([&] {
        over_streams([&](auto over) {
            expect_writes_are_counted(over, [&](auto& s, std::string_view b, std::error_code& ec) {
                return s.sendfile(descriptor_of(file.get()), static_cast<int64_t>(all.size() - b.size()), b.size(), ec);
            });
        });
    });
}

TEST_P(NetDeadline, EndsAReceiveWithoutADatagram) {
    rt().run([] {
        over_datagrams([](auto over) {
            datagrams d(over);
            char b[8];
            expect_timeouts([&](auto when) { d.near.set_read_deadline(when); },
                            [&](std::error_code& ec) { EXPECT_EQ(d.near.receive(b, ec).size, 0U); });
            d.far.send("four");
            EXPECT_THROW(static_cast<void>(d.near.receive(b)), std::system_error) << "it has passed";
            d.near.clear_deadline();
            EXPECT_EQ(d.near.receive(b).size, 4U);
        });
    });
}

TEST_P(NetDeadline, EndsASendOfADatagramWithoutRoom) {
    if (!weft::detail::os::has_abstract_names()) GTEST_SKIP() << "no Unix datagrams; those of UDP are dropped";
    rt().run([] {
        datagrams d((over_unix_datagrams()));
        int sent = 0;
        while (weft::detail::os::socket_send(d.near.native_handle(), "x", 1) == 1) ++sent;  // until no more are taken
        ASSERT_GT(sent, 0);
        expect_timeouts([&](auto when) { d.near.set_write_deadline(when); },
                        [&](std::error_code& why) { d.near.send("y", why); });
        // None of the refused datagrams arrives.
        d.near.clear_deadline();
        wait_group last;
        last.go([&] { d.near.send("z"); });
        int came = 0;
        for (char b[1] = {'x'}; b[0] != 'z'; came += b[0] == 'x' ? 1 : 0) {
            EXPECT_EQ(d.far.receive(b).size, 1U);
            EXPECT_TRUE(b[0] == 'x' || b[0] == 'z');
        }
        last.wait();
        EXPECT_EQ(came, sent);
    });
}

TEST_P(NetDeadline, EndsAnAcceptWithoutAClient) {
    rt().run([] {
        over_streams([](auto over) {
            auto listener = over.listen();
            expect_timeouts([&](auto when) { listener.set_deadline(when); },
                            [&](std::error_code& ec) { EXPECT_FALSE(listener.accept(ec).is_open()); });
            const auto client = over.connect(listener);
            EXPECT_THROW(static_cast<void>(listener.accept()), std::system_error) << "it has passed";
            listener.clear_deadline();
            EXPECT_TRUE(listener.accept().is_open());
        });
    });
}

// A listener with a full queue does not answer.
template <typename Over>
std::vector<typename Over::stream> fill_queue_of(const typename Over::listener& listener) {
    std::vector<typename Over::stream> first;
    int in_vain = 0;  // in succession: a single one may be due to a slow machine
    while (in_vain < 2) {
        std::error_code ec;
        with_timeout(20ms, [&] { first.push_back(Over::connect(listener, ec)); });
        in_vain = ec ? in_vain + 1 : 0;
    }
    return first;
}

TEST_P(NetDeadline, EndsAConnectWithoutAnAnswer) {
    rt().run([] {
        over_streams([]<typename Over>(Over) {
            auto listener = Over::listen(0);
            const auto first = fill_queue_of<Over>(listener);
            for (const std::chrono::nanoseconds t : times) {
                const auto when = steady::now() + t;
                std::error_code ec;
                with_deadline(when, [&] { EXPECT_FALSE(Over::connect(listener, ec).is_open()); });
                EXPECT_EQ(ec, errc::timed_out) << t.count();
                EXPECT_GE(steady::now(), when);
            }
            EXPECT_THROW(with_timeout(2ms, [&] { static_cast<void>(Over::connect(listener)); }), timed_out);
            bool was_cancelled = false;
            scope([&](task_scope& s) {
                s.go([&] {
                    try {
                        static_cast<void>(Over::connect(listener));
                    } catch (const cancelled&) {
                        was_cancelled = true;
                        throw;
                    }
                });
                yield();
                s.cancel();
            });
            EXPECT_TRUE(was_cancelled);
        });
    });
}

// The earlier one of the socket's deadline and the deadline around the call counts. The error tells
// which it was.
TEST_P(NetDeadline, TheEarlierOfTwoDeadlinesCounts) {
    rt().run([] {
        over_streams([](auto over) {
            connection c(over);
            char b[1];
            const auto start = steady::now();
            c.near.set_read_deadline(start + 5ms);
            try {
                with_timeout(1h, [&] { static_cast<void>(c.near.read_some(b)); });
                ADD_FAILURE();
            } catch (const std::system_error& e) {
                EXPECT_EQ(e.code(), errc::timed_out);
            }
            EXPECT_GE(steady::now() - start, 5ms);
            c.near.set_read_deadline(steady::now() + 1h);
            EXPECT_THROW(with_timeout(2ms, [&] { static_cast<void>(c.near.read_some(b)); }), timed_out);
            c.far.write_all("x");
            EXPECT_EQ(c.near.read_some(b), 1U);
        });
    });
}

// If even the best of ten tries is late, something is wrong and not just slow.
TEST_P(NetDeadline, IsPrecise) {
    rt().run([] {
        const auto least_lateness = [](auto set, auto call) {
            auto least = std::chrono::nanoseconds::max();
            for (int i = 0; i < 10; ++i) {
                const auto when = steady::now() + 1ms + i * 100us;
                set(when);
                std::error_code ec;
                call(ec);
                EXPECT_EQ(ec, errc::timed_out);
                const auto lateness = steady::now() - when;
                EXPECT_GE(lateness, 0ns);
                least = std::min<std::chrono::nanoseconds>(least, lateness);
            }
            return least;
        };
        char b[1];
        over_streams([&](auto over) {
            connection c(over);
            EXPECT_LT(least_lateness([&](auto when) { c.near.set_read_deadline(when); },
                                     [&](std::error_code& ec) { static_cast<void>(c.near.read_some(b, ec)); }),
                      100ms);
            const std::string much(std::size_t{4} << 20, 'x');
            make_buffers_small(c.near);
            make_buffers_small(c.far);
            EXPECT_LT(least_lateness([&](auto when) { c.near.set_write_deadline(when); },
                                     [&](std::error_code& ec) { c.near.write_all(much, ec); }),
                      100ms);
        });
        over_datagrams([&](auto over) {
            datagrams d(over);
            EXPECT_LT(least_lateness([&](auto when) { d.near.set_read_deadline(when); },
                                     [&](std::error_code& ec) { static_cast<void>(d.near.receive(b, ec)); }),
                      100ms);
        });
    });
}

// Reads an endless stream under deadlines from a nanosecond up. Each one ends a read. No byte is
// lost or doubled.
template <typename Stream>
void read_with_various_deadlines(Stream& s, uint64_t key) {
    constexpr std::array<std::chrono::nanoseconds, 15> all{1ns, 2ns, 5ns,  50ns,  100ns, 200ns, 500ns, 750ns,
                                                           1us, 5us, 25us, 250us, 500us, 1ms,   20ms};
    std::string b(std::size_t{64} << 10, ' ');
    uint64_t got = 0;
    for (const std::chrono::nanoseconds t : all) {
        const auto when = steady::now() + t;
        s.set_read_deadline(when);
        std::error_code ec;
        bool right = true;
        while (!ec) {
            const std::size_t n = s.read_some(b, ec);
            EXPECT_TRUE(ec || n != 0) << "it has no end";
            right = right && are_secret_bytes(b.data(), n, key, got);
            got += n;
        }
        EXPECT_EQ(ec, errc::timed_out) << t.count() << " ns: " << ec.message();
        EXPECT_GE(steady::now(), when) << t.count();
        EXPECT_TRUE(right) << t.count();
    }
    s.clear_deadline();
    const std::size_t n = s.read_some(b);
    EXPECT_GT(n, 0U);
    EXPECT_TRUE(are_secret_bytes(b.data(), n, key, got)) << "after all that";
}

TEST_P(NetDeadline, VariousDeadlinesHoldUnderLoad) {
    rt().run([] {
        over_streams([](auto over) {
            std::vector<connection<decltype(over)>> all;
            wait_group readers;
            wait_group writers;
            for (int i = 0; i < 4; ++i) all.emplace_back(over);
            for (uint64_t i = 0; i < all.size(); ++i) {
                auto& c = all[i];
                writers.go([&c, i] {
                    std::error_code ec;
                    for (uint64_t sent = 0; !ec; sent += 100'000) c.far.write_all(secret_bytes(i, sent, 100'000), ec);
                    EXPECT_NE(ec, errc::timed_out);
                });
                readers.go([&c, i] { read_with_various_deadlines(c.near, i); });
            }
            readers.wait();
            for (auto& c : all) c.near.close();
            writers.wait();
        });
    });
}

}  // namespace
}  // namespace weft::test
