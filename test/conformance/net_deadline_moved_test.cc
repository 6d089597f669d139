// net_deadline_moved_test.cc: one or many threads set, move and clear deadlines of sockets while
// others wait.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/connections.h"
#include "support/eventually.h"
#include "support/outside_poller.h"
#include "support/pending_timers.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

class NetDeadlineMoved : public procs_test {
protected:
    static void SetUpTestSuite() { open_outside_poller(); }

    void TearDown() override {
        rt().drain();
        EXPECT_EQ(pending_timers(rt()), 0U) << "nobody waits any more";
        procs_test::TearDown();
    }

    // A reader's deadline is changed in time: the reader still waits after the first deadline,
    // until data comes.
    template <typename Over, typename Change>
    void expect_it_waits_on(Over over, Change change);
};

WEFT_SWEEP_OVER(NetDeadlineMoved, 1U, 2U, 4U);

template <typename Over, typename Change>
void NetDeadlineMoved::expect_it_waits_on(Over over, Change change) {
    for (std::chrono::milliseconds time = 10ms;; time *= 2) {
        ASSERT_LE(time, 10s) << "this machine is too slow for a deadline to be moved in time";
        connection c(over);
        std::error_code ec;
        std::size_t n = 0;
        char b[1];
        std::atomic<bool> done = false;
        const uint64_t parks = rt().stats().parks;
        const auto first = steady::now() + time;
        c.near.set_read_deadline(first);
        rt().go([&] {
            n = c.near.read_some(b, ec);
            done = true;
        });
        eventually([&] { return done || rt().stats().parks > parks; });
        change(c.near);
        const bool in_time = steady::now() < first;
        std::this_thread::sleep_until(first + 3ms);  // no event reports that the first deadline has passed
        c.far.write_all("x");
        rt().drain();
        if (!in_time) continue;
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_EQ(n, 1U);
        return;
    }
}

TEST_P(NetDeadlineMoved, ALaterDeadlineAppliesToACurrentWait) {
    over_streams([&](auto over) {
        expect_it_waits_on(over, [](auto& s) { s.set_read_deadline(steady::now() + 1h); });
        expect_it_waits_on(over, [](auto& s) {
            for (int i = 1; i <= 20; ++i) s.set_read_deadline(steady::now() + i * 1min);
        });
        expect_it_waits_on(over, [](auto& s) { s.clear_deadline(); });
        expect_it_waits_on(over, [](auto& s) { s.set_deadline(steady::time_point::max()); });
    });
}

// An earlier deadline takes effect, too, for all waiters of its direction and for no others.
TEST_P(NetDeadlineMoved, AnEarlierDeadlineEndsAllCurrentWaits) {
    over_streams([&](auto over) {
        connection c(over);
        make_buffers_small(c.near);
        make_buffers_small(c.far);
        c.near.set_deadline(steady::now() + 1h);
        constexpr int readers = 5;
        std::atomic<int> timed_out = 0;
        std::error_code of_writer;
        const std::string much(std::size_t{8} << 20, 'x');
        park(readers + 1, [&] {
            for (int i = 0; i < readers; ++i) {
                rt().go([&] {
                    char b[1];
                    std::error_code ec;
                    static_cast<void>(c.near.read_some(b, ec));
                    if (ec == errc::timed_out) ++timed_out;
                });
            }
            rt().go([&] { c.near.write_all(much, of_writer); });
        });
        const auto when = steady::now() + 5ms;
        c.near.set_read_deadline(when);
        eventually([&] { return timed_out == readers; });
        EXPECT_GE(steady::now(), when);
        eventually([&] { return rt().stats().live == 1; });
        EXPECT_FALSE(of_writer) << "the writer waits on";
        c.near.set_write_deadline(steady::time_point::min());
        rt().drain();
        EXPECT_EQ(of_writer, errc::timed_out);
    });
}

TEST_P(NetDeadlineMoved, AnEarlierDeadlineEndsAcceptsAndReceives) {
    over_datagrams([&](auto over) {
        auto listener = over_tcp::listen();
        datagrams first(over);
        datagrams second(over);
        std::atomic<int> timed_out = 0;
        park(6, [&] {
            for (int i = 0; i < 2; ++i) {
                const auto count = [&](const std::error_code& ec) { timed_out += ec == errc::timed_out ? 1 : 0; };
                rt().go([&, count] {
                    std::error_code ec;
                    static_cast<void>(listener.accept(ec));
                    count(ec);
                });
                for (auto* socket : {&first.near, &second.near}) {
                    rt().go([socket, count] {
                        char b[1];
                        std::error_code ec;
                        static_cast<void>(socket->receive(b, ec));
                        count(ec);
                    });
                }
            }
        });
        listener.set_deadline(steady::now());
        first.near.set_deadline(steady::now() + 1ms);
        second.near.set_deadline(steady::now() - 1h);
        rt().drain();
        EXPECT_EQ(timed_out, 6);
    });
}

// A random deadline: passed, soon, far away, or none.
template <typename Socket>
void set_some_deadline(Socket& s, prng& random) {
    const auto when = steady::now() + std::chrono::microseconds(random.below(500)) - 100us;
    switch (random.below(6)) {
        case 0:
            s.set_read_deadline(when);
            break;
        case 1:
            s.set_write_deadline(when);
            break;
        case 2:
            s.set_deadline(when);
            break;
        case 3:
            s.set_deadline(steady::now() + 1h);
            break;
        default:
            s.clear_deadline();
            break;
    }
}

// Writes everything, continuing after each timeout. Returns the number of timeouts.
template <typename Stream>
int write_persistently(Stream& s, std::string_view b) {
    int timeouts = 0;
    while (!b.empty()) {
        std::error_code ec;
        b.remove_prefix(s.write_all(b, ec));
        if (!ec) continue;
        EXPECT_EQ(ec, errc::timed_out) << ec.message();
        if (ec != errc::timed_out) break;
        ++timeouts;
        yield();
    }
    return timeouts;
}

template <typename Stream>
int read_persistently(Stream& s, uint64_t key, std::size_t size) {
    int timeouts = 0;
    std::string b(5000, ' ');
    for (std::size_t got = 0; got < size;) {
        std::error_code ec;
        const std::size_t n = s.read_some(b, ec);
        EXPECT_TRUE(are_secret_bytes(b.data(), n, key, got));
        got += n;
        if (!ec && n == 0) {
            ADD_FAILURE() << "the end after " << got;
            break;
        }
        if (!ec) continue;
        EXPECT_EQ(ec, errc::timed_out) << ec.message();
        if (ec != errc::timed_out) break;
        ++timeouts;
        yield();
    }
    return timeouts;
}

// Many threads set and clear deadlines while others read and write. These may time out at any
// moment, but lose nothing.
TEST_P(NetDeadlineMoved, ManyThreadsMaySetDeadlinesDuringWaits) {
    prng random(announced_seed());
    rt().run([&] {
        over_streams([&](auto over) {
            connection c(over);
            make_buffers_small(c.near);
            make_buffers_small(c.far);
            std::atomic<bool> over_now = false;
            wait_group setters;
            for (int i = 0; i < 4; ++i) {
                setters.go([&, r = random.split(), i]() mutable {
                    while (!over_now) {
                        set_some_deadline(i % 2 == 0 ? c.near : c.far, r);
                        if (r.one_in(3)) sleep_for(std::chrono::microseconds(r.below(100)));
                        yield();
                    }
                });
            }
            const std::size_t size = static_cast<std::size_t>(scaled(2'000'000));
            std::atomic<int> timeouts = 0;
            const auto patience = steady::now() + 20s;  // a fast transfer may meet no deadline: then the next one
            do {
                wait_group all;
                all.go([&] { timeouts += write_persistently(c.near, secret_bytes(1, 0, size)); });
                all.go([&] { timeouts += write_persistently(c.far, secret_bytes(2, 0, size)); });
                all.go([&] { timeouts += read_persistently(c.near, 2, size); });
                all.go([&] { timeouts += read_persistently(c.far, 1, size); });
                all.wait();
            } while (timeouts == 0 && steady::now() < patience);
            over_now = true;
            setters.wait();
            EXPECT_GT(timeouts, 0) << "they never met";
        });
    });
}

TEST_P(NetDeadlineMoved, SettingDeadlinesRacesWithClose) {
    prng random(announced_seed());
    for (int round = 0; round < scaled(50); ++round) {
        over_streams([&](auto over) {
            rt().run([&] {
                connection c(over);
                std::atomic<bool> gone = false;
                wait_group all;
                for (int i = 0; i < 3; ++i) {
                    all.go([&, r = random.split()]() mutable {
                        for (int after = 0; after < 10; after += gone ? 1 : 0) set_some_deadline(c.near, r), yield();
                    });
                }
                all.go([&] {
                    char b[1];
                    std::error_code ec;
                    while (ec != errc::closed) static_cast<void>(c.near.read_some(b, ec)), yield();
                });
                if (random.one_in(2)) sleep_for(std::chrono::microseconds(random.below(200)));
                c.near.close();
                gone = true;
                all.wait();
                EXPECT_FALSE(c.near.is_open());
            });
        });
    }
}

}  // namespace
}  // namespace weft::test
