// netpoll_test.cc: events of descriptors reach their waiters, whatever the Ps do at that time.
// Without waiters, polling costs nothing.

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/net/tcp.h>
#include <weft/net/unix.h>
#include <weft/weft.h>

#include "netpoll/poll_desc.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/more_files.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::endpoint;
using net::tcp_listener;
using net::tcp_stream;

struct pair_of_streams {
    pair_of_streams() {
        tcp_listener listener(endpoint::loopback(0));
        wait_group one;
        one.go([&] { near = tcp_stream::connect(listener.local_endpoint()); });
        far = listener.accept();
        one.wait();
    }

    tcp_stream near;
    tcp_stream far;
};

using Netpoll = procs_test;
WEFT_SWEEP(Netpoll);

// No P runs out of work and none passes through the scheduler. The monitor sees the event, and
// retakes a P for the waiter.
TEST_P(Netpoll, AnEventIsDeliveredWhileAllPsCompute) {
    auto ends = std::make_unique<pair_of_streams>(rt().run([] { return pair_of_streams(); }));
    std::atomic<bool> over = false;
    std::atomic<int> answers = 0;
    constexpr int rounds = 5;
    park(1, [&] {
        rt().go([&] {
            char b[1];
            while (ends->near.read_some(b) != 0) ++answers;
        });
    });
    const unsigned hogs = procs() == 64 ? 4 : procs();
    for (unsigned i = 0; i < hogs; ++i) {
        rt().go([&] {
            while (!over) {}
        });
    }
    const auto began = std::chrono::steady_clock::now();
    for (int i = 1; i <= rounds; ++i) {
        ends->far.write_all("x");  // from a plain thread
        eventually([&] { return answers == i; });
    }
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(scaled(5)));
    over = true;
    ends->far.shutdown_send();
    rt().drain();
}

// The M of a pinned G may be the only one left to sleep in the poller: the others went idle while
// it ran.
TEST_P(Netpoll, APinnedGGetsItsFileEventsWhileOtherMsSleep) {
    auto ends = std::make_unique<pair_of_streams>(rt().run([] { return pair_of_streams(); }));
    chan<int> questions;
    chan<int> answers;
    std::atomic<int> heard = 0;
    constexpr int rounds = 20;
    rt().go([&] {
        for (const int q : questions) answers.send(q + 1);
    });
    rt().go([&] {
        const pin here;
        char b[1];
        for (int i = 0; i < rounds; ++i) {
            questions.send(i);  // the other G answers on another M, which goes idle then
            EXPECT_EQ(answers.recv(), i + 1);
            EXPECT_EQ(ends->near.read_some(b), 1U);
            ++heard;
        }
        questions.close();
    });
    for (int i = 1; i <= rounds; ++i) {
        ends->far.write_all("x");
        eventually([&] { return heard == i; });
    }
    rt().drain();
}

// With one P its M is the only one; otherwise another M computes.
TEST_P(Netpoll, APinnedGGetsItsFileEventsBesideAComputingG) {
    auto ends = std::make_unique<pair_of_streams>(rt().run([] { return pair_of_streams(); }));
    std::atomic<int> heard = 0;
    std::atomic<bool> over = false;
    if (procs() > 1) {
        rt().go([&] {
            const pin here;
            while (!over) {}
        });
    }
    rt().go([&] {
        const pin here;
        char b[1];
        while (ends->near.read_some(b) != 0) ++heard;
    });
    for (int i = 1; i <= 5; ++i) {
        ends->far.write_all("x");
        eventually([&] { return heard == i; });
    }
    over = true;
    ends->far.shutdown_send();
    rt().drain();
}

// Gs that yield all the time are never idle, but pass through the scheduler.
TEST_P(Netpoll, AnEventIsDeliveredWhileOthersYield) {
    auto ends = std::make_unique<pair_of_streams>(rt().run([] { return pair_of_streams(); }));
    std::atomic<bool> over = false;
    std::atomic<int> answers = 0;
    park(1, [&] {
        rt().go([&] {
            char b[1];
            while (ends->near.read_some(b) != 0) ++answers;
        });
    });
    for (unsigned i = 0; i < 2 * procs(); ++i) {
        rt().go([&] {
            while (!over) yield();
        });
    }
    for (int i = 1; i <= 20; ++i) {
        ends->far.write_all("x");
        eventually([&] { return answers == i; });
    }
    over = true;
    ends->far.shutdown_send();
    rt().drain();
}

// A message travels around a ring of connections, while timers fire.
TEST_P(Netpoll, TimersFireBesideEvents) {
    rt().run([] {
        constexpr int length = 8;
        std::vector<pair_of_streams> ring(length);
        wait_group all;
        std::atomic<int> laps = 0;
        std::atomic<bool> over = false;
        for (int i = 0; i < length; ++i) {
            all.go([&, i] {
                auto& in = ring[static_cast<std::size_t>(i)].far;
                auto& out = ring[static_cast<std::size_t>((i + 1) % length)].near;
                char b[1];
                while (in.read_some(b) != 0) {
                    if (i == 0 && ++laps == scaled(200)) break;
                    out.write_all(b);
                }
                out.shutdown_send();
            });
        }
        std::atomic<int> naps = 0;
        all.go([&] {
            while (!over) {
                sleep_for(100us);  // the timers
                ++naps;
            }
        });
        ring[0].near.write_all("x");
        eventually([&] { return laps == scaled(200) && naps > 0; });
        over = true;
        all.wait();
    });
}

// One descriptor, waited for in two runtimes and by a plain thread. The first runtime registered
// it, and stops.
TEST(NetpollOfTwo, AStopKeepsWaitersOfOtherRuntimes) {
    tcp_listener listener(endpoint::loopback(0));
    auto first = std::make_unique<runtime>(runtime_options{.procs = 1});
    runtime second(runtime_options{.procs = 1});
    std::atomic<int> accepted = 0;
    std::atomic<int> waiting = 0;
    const auto accept_one = [&] {
        ++waiting;
        static_cast<void>(listener.accept());
        ++accepted;
    };
    first->go([&] {
        std::error_code ec;
        ++waiting;
        static_cast<void>(listener.accept(ec));
    });
    eventually([&] { return first->stats().parks == 1; });
    second.go(accept_one);
    eventually([&] { return second.stats().parks >= 1; });
    std::thread plain(accept_one);
    eventually([&] { return waiting == 3; });
    first->abandon();
    first.reset();
    for (int i = 0; i < 2; ++i) {
        const tcp_stream s = tcp_stream::connect(listener.local_endpoint());
        eventually([&] { return accepted == i + 1; });
    }
    plain.join();
    second.abandon();
}

TEST(NetpollOfOne, APlainThreadReusesADescriptorOfTheRuntime) {
    runtime rt(runtime_options{.procs = 1});
    auto [near, far] = net::unix_stream::pair();
    char byte = 0;
    auto served = rt.async([&] { return near.read_some({&byte, 1}); });
    eventually([&] { return rt.stats().parks >= 1; });
    far.write_all("x");
    EXPECT_EQ(served.get(), 1U);
    for (int i = 0; i < 10; ++i) {
        std::thread plain([&] { EXPECT_EQ(near.read_some({&byte, 1}), 1U); });
        eventually([&] { return weft::detail::poll_desc::of(near.native_handle())->in.waiters_for_test() == 1; });
        far.write_all("y");
        plain.join();
        EXPECT_EQ(byte, 'y');
    }
    rt.abandon();
}

// no_retakes: not even from an M that waits for a CPU.
struct CalmNetpoll : private calm, private no_retakes, ::testing::Test {};

// All the time more Gs are runnable than a P's queue holds.
//
// A plain thread plays all clients. It sends each G its next byte as soon as the last one came
// back, so only the order of service decides which is ahead.
TEST_F(CalmNetpoll, EachOfManyConnectionsIsServedFairly) {
    const more_files enough;
    const auto count = static_cast<size_t>(std::min(600, more_files::connections()));
    // The first client is ten to twenty rounds ahead, or more on a busy machine, and stays so: a
    // small part of all rounds.
    const int rounds = 300;
    runtime rt(runtime_options{.procs = 1});
    std::vector<int> clients;
    std::vector<net::unix_stream> ends;
    for (size_t i = 0; i < count; ++i) {
        auto [client, server] = net::unix_stream::pair();
        clients.push_back(client.native_handle());
        ends.push_back(std::move(client));
        rt.go([s = std::move(server)]() mutable {
            char b[1];
            std::error_code ec;  // in case the end comes in the middle of a request
            while (!ec && s.read_some(b, ec) != 0) {
                compute_for(5us);
                s.write_all(b, ec);
            }
        });
    }
    std::vector<int> served(count);
    for (const int fd : clients) ASSERT_EQ(::send(fd, "x", 1, 0), 1);
    const auto give_up = std::chrono::steady_clock::now() + patience();
    for (int most = 0; most < rounds;) {
        ASSERT_LT(std::chrono::steady_clock::now(), give_up);
        for (size_t i = 0; i < count; ++i) {
            char b[1];
            if (::recv(clients[i], b, 1, MSG_DONTWAIT) != 1) continue;
            most = std::max(most, ++served[i]);
            ASSERT_EQ(::send(clients[i], b, 1, 0), 1);
        }
    }
    EXPECT_GE(*std::ranges::min_element(served), rounds / 2) << "of " << rounds << " rounds of the first";
    ends.clear();
    rt.drain();
}

// A plain thread sends requests to several green threads at a time, and receives the answers.
class requests {
public:
    requests(runtime& rt, std::size_t at_a_time, bool with_deadlines = false) {
        for (std::size_t i = 0; i < at_a_time; ++i) {
            auto [client, server] = net::unix_stream::pair();
            clients_.push_back(std::move(client));
            rt.go([with_deadlines, s = std::move(server)]() mutable {
                char b[1];
                for (;;) {
                    if (with_deadlines) s.set_deadline(std::chrono::steady_clock::now() + 1h);
                    if (s.read_some(b) == 0) break;
                    compute_for(5us);
                    s.write_all(b);
                }
            });
        }
    }

    // Sends `count` times, with a pause() after each.
    template <typename Pause>
    void send(int count, Pause pause) {
        for (int i = 0; i < count; ++i) {
            char b[1] = {'x'};
            for (const net::unix_stream& c : clients_) EXPECT_EQ(::send(c.native_handle(), b, 1, 0), 1);
            for (const net::unix_stream& c : clients_) {
                while (::recv(c.native_handle(), b, 1, MSG_DONTWAIT) != 1) {}
            }
            pause();
        }
    }

private:
    std::vector<net::unix_stream> clients_;
};

// Each of two requests makes an M return from the poller. The second one must wake a third M,
// unless there is a near sentinel.
//
// On a busy machine the requests do not follow each other soon enough, so it may take some
// hundreds.
TEST_F(CalmNetpoll, OneSentinelServesConsecutiveRequests) {
    if (scale() > 1) GTEST_SKIP() << "they do not follow each other soon enough here";
    constexpr int count = 100;
    runtime rt(runtime_options{.procs = 4});
    requests them(rt, 2);
    eventually([&] {
        const uint64_t before = rt.stats().wakes;
        them.send(count, [] { compute_for(20us); });
        return rt.stats().wakes - before < count / 10;
    });
}

// The M that returns from the poller need not wake the other M.
TEST_F(CalmNetpoll, AnOccasionalRequestWakesNoOtherM) {
    if (scale() > 1) GTEST_SKIP() << "they may follow each other too soon here";
    constexpr int count = 100;
    for (const bool with_deadlines : {false, true}) {
        runtime rt(runtime_options{.procs = 2});
        requests them(rt, 1, with_deadlines);
        eventually([&] {
            const uint64_t before = rt.stats().wakes;
            them.send(count, [] { std::this_thread::sleep_for(2ms); });  // now and then
            return rt.stats().wakes - before < count / 2;
        });
    }
}

// Two Ms are in the poller, and external work is for either or both. An interrupt wakes the right
// M, or is passed on.
TEST_P(Netpoll, AnInterruptReturnsTheRightMFromThePoller) {
    requests them(rt(), 1);
    for (int round = 0; round < scaled(300); ++round) {
        // Pauses in which both Ms go to sleep there.
        if (round % 10 == 0) them.send(3, [] { std::this_thread::sleep_for(500us); });
        std::atomic<unsigned> running = 0;
        std::atomic<unsigned> ended = 0;
        const unsigned count = 1 + static_cast<unsigned>(round) % procs();
        for (unsigned i = 0; i < count; ++i) {
            rt().go([&] {
                ++running;
                busily([&] { return running == count; });  // each on its own M
                ++ended;
            });
        }
        eventually([&] { return ended == count; });
        std::this_thread::sleep_for(
            std::chrono::microseconds(round * 7 % 400));  // hits them on all points of the way there and back
    }
}

TEST_P(Netpoll, StopEndsAllWaits) {
    tcp_listener listener(endpoint::loopback(0));
    runtime other(runtime_options{.procs = procs()});
    for (int i = 0; i < 10; ++i) {
        other.go([&] { static_cast<void>(listener.accept()); });
    }
    eventually([&] { return other.stats().parks == 10; });
    other.shutdown(std::chrono::steady_clock::now() + std::chrono::seconds(scaled(10)));
}

TEST_P(Netpoll, MoreAcceptersThanConnectionsMayWait) {
    rt().run([] {
        tcp_listener listener(endpoint::loopback(0));
        std::atomic<int> accepted = 0;
        wait_group all;
        for (int i = 0; i < 20; ++i) {
            all.go([&] {
                std::error_code ec;
                const tcp_stream s = listener.accept(ec);
                if (!ec) ++accepted;
            });
        }
        std::vector<tcp_stream> clients;
        for (int i = 0; i < 15; ++i) clients.push_back(tcp_stream::connect(listener.local_endpoint()));
        eventually([&] { return accepted == 15; });
        listener.close();
        all.wait();
        EXPECT_EQ(accepted, 15);
    });
}

}  // namespace
}  // namespace weft::test
