// net_load_test.cc: servers under load: many acceptors, slow or silent clients, much data, and a
// runtime that stops in between.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/connections.h"
#include "support/eventually.h"
#include "support/outside_poller.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/tally.h"
#include "support/units.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::const_buffer;
using net::mutable_buffer;

class NetLoad : public procs_test {
protected:
    static void SetUpTestSuite() { open_outside_poller(); }
};

WEFT_SWEEP_OVER(NetLoad, 1U, 2U, 4U);

// ---- Many acceptors.

// Accepts until the listener is closed, and marks the number that each connection brings.
template <typename Listener>
void accept_and_mark(Listener& listener, tally& seen) {
    for (;;) {
        std::error_code ec;
        auto s = listener.accept(ec);
        if (ec) {
            EXPECT_EQ(ec, errc::closed) << ec.message();
            return;
        }
        uint32_t number = 0;
        if (s.read(mutable_buffer(&number, sizeof(number)), ec) == sizeof(number)) seen.mark(number);
        s.write_all("k", ec);
    }
}

// Connects `count` clients, a few at a time. Each waits until it was seen.
template <typename Over>
void connect_numbered(const typename Over::listener& listener, uint32_t count) {
    wait_group clients;
    std::atomic<uint32_t> next = 0;
    for (int i = 0; i < 16; ++i) {
        clients.go([&] {
            for (uint32_t n = next++; n < count; n = next++) {
                auto s = Over::connect(listener);
                s.write_all(const_buffer(&n, sizeof(n)));
                char b[1];
                EXPECT_EQ(s.read(b), 1U);
            }
        });
    }
    clients.wait();
}

TEST_P(NetLoad, ManyAcceptersGetEachConnectionOnce) {
    const auto count = static_cast<uint32_t>(scaled(500));
    rt().run([&] {
        over_streams([&]<typename Over>(Over) {
            auto listener = Over::listen();
            tally seen(count);
            wait_group accepters;
            for (int i = 0; i < 8; ++i) accepters.go([&] { accept_and_mark(listener, seen); });
            connect_numbered<Over>(listener, count);
            listener.close();
            accepters.wait();
            EXPECT_TRUE(seen.exactly_once());
        });
    });
}

TEST_P(NetLoad, TwoRuntimesAndAThreadShareAListener) {
    const auto count = static_cast<uint32_t>(scaled(500));
    runtime other({.procs = procs()});
    over_streams([&]<typename Over>(Over) {
        auto listener = Over::listen();
        tally seen(count);
        std::thread plain([&] { accept_and_mark(listener, seen); });
        for (int i = 0; i < 3; ++i) {
            rt().go([&] { accept_and_mark(listener, seen); });
            other.go([&] { accept_and_mark(listener, seen); });
        }
        other.run([&] { connect_numbered<Over>(listener, count); });
        listener.close();
        plain.join();
        rt().drain();
        other.drain();
        EXPECT_TRUE(seen.exactly_once());
    });
}

// Events that a processor has fetched, and Gs that wait there, move to other processors.
TEST_P(NetLoad, AChangeOfTheNumberOfProcessorsLosesNothing) {
    const auto count = static_cast<uint32_t>(scaled(300));
    prng random(announced_seed());
    over_streams([&]<typename Over>(Over) {
        auto listener = Over::listen();
        tally seen(count);
        std::atomic<bool> over_now = false;
        rt().go([&] { accept_and_mark(listener, seen); });
        rt().go([&] { accept_and_mark(listener, seen); });
        rt().go([&] {
            connect_numbered<Over>(listener, count);
            listener.close();
            over_now = true;
        });
        while (!over_now) {
            rt().set_max_procs(1 + static_cast<unsigned>(random.below(4)));
            std::this_thread::sleep_for(std::chrono::microseconds(random.below(500)));  // each number holds for a while
        }
        rt().drain();
        EXPECT_TRUE(seen.exactly_once());
    });
}

// ---- Stopping.

// A server that owns its listener, and ends when it is cancelled.
template <typename Over>
void serve_echo(typename Over::listener listener) {
    for (;;) {
        go([s = listener.accept()]() mutable {
            char b[1000];
            std::error_code ec;
            while (const std::size_t n = s.read_some(b, ec)) {
                s.write_all(const_buffer(b, n), ec);
                if (ec) return;
            }
        });
    }
}

// Sends requests, in one connection after another, until the server is gone.
template <typename Over, typename Connect>
void ask_echo(Connect connect, prng random, std::atomic<int>& answers) {
    for (;;) {
        std::error_code ec;
        auto s = connect(ec);
        if (ec) return;  // refused
        for (int i = 0; i < 10 && !ec; ++i) {
            const uint64_t key = random.next();
            const std::string text = secret_bytes(key, 0, 1 + static_cast<std::size_t>(random.below(2000)));
            s.write_all(text, ec);
            if (ec) break;
            std::string got(text.size(), ' ');
            const std::size_t n = s.read(got, ec);
            EXPECT_TRUE(are_secret_bytes(got.data(), n, key, 0));
            if (n < text.size()) break;
            ++answers;
        }
    }
}

TEST_P(NetLoad, ARuntimeStopsUnderLoad) {
    prng random(announced_seed());
    for (int round = 0; round < 3; ++round) {
        over_streams([&]<typename Over>(Over) {
            runtime server({.procs = procs()});
            auto listener = Over::listen();
            std::atomic<int> answers = 0;
            // The runtime's end closes the listener, so the address is stored.
            const auto connect = [&] {
                if constexpr (std::is_same_v<Over, over_tcp>) {
                    return [at = listener.local_endpoint()](std::error_code& ec) {
                        return net::tcp_stream::connect(at, ec);
                    };
                } else {
                    return [at = listener.local_address()](std::error_code& ec) {
                        return net::unix_stream::connect(at, ec);
                    };
                }
            }();
            server.go([&listener] { serve_echo<Over>(std::move(listener)); });
            for (int i = 0; i < 20; ++i) {
                rt().go([&, connect, r = random.split()] { ask_echo<Over>(connect, r, answers); });
            }
            const int enough = scaled(200) + random.below(scaled(200));
            eventually([&] { return answers >= enough; });
            const stop_outcome outcome = server.shutdown(60s);
            EXPECT_EQ(outcome.abandoned, 0U);
            EXPECT_EQ(outcome.stragglers, 0U);
            EXPECT_GT(outcome.drained, 0U) << "it listened until then";
            rt().drain();
        });
    }
}

// ---- Much data at once, through small buffers.

template <typename Over, typename Write>
void send_much(Over over, std::size_t size, Write write) {
    connection c(over);
    make_buffers_small(c.near);
    make_buffers_small(c.far);
    wait_group writer;
    writer.go([&] {
        const std::string all = secret_bytes(99, 0, size);
        EXPECT_EQ(write(c.near, all), size);
        c.near.shutdown_send();
    });
    std::string b(10'007, ' ');
    std::size_t got = 0;
    bool right = true;
    while (const std::size_t n = c.far.read_some(b)) {
        right = right && are_secret_bytes(b.data(), n, 99, got);
        got += n;
    }
    EXPECT_EQ(got, size);
    EXPECT_TRUE(right);
    writer.wait();
}

TEST_P(NetLoad, SixteenMegabytesPassThroughSmallBuffers) {
    const std::size_t size = static_cast<std::size_t>(scaled(static_cast<int>(16 * mib)));
    rt().run([&] {
        over_streams([&](auto over) {
            send_much(over, size, [](auto& s, const std::string& all) { return s.write_all(all); });
            send_much(over, size, [](auto& s, const std::string& all) {
                std::vector<const_buffer> pieces;
                for (std::size_t at = 0, n = 0; at < all.size(); at += n) {
                    n = std::min(all.size() - at, pieces.size() * 131 % 40'000);  // the first is empty
                    pieces.emplace_back(all.data() + at, n);
                }
                return s.writev_all(pieces);
            });
        });
    });
}

// ---- Slow or silent peers.

// Each request has a time limit, however often the peer sends a byte.
template <typename Stream>
void serve_in_time(Stream& s, std::atomic<int>& served, std::atomic<int>& cut) {
    const auto end = std::chrono::steady_clock::now() + 40ms;
    s.set_deadline(end);
    std::array<char, 1000> request;
    std::error_code ec;
    const std::size_t n = s.read(request, ec);
    if (ec) {
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_LT(n, request.size());
        EXPECT_GE(std::chrono::steady_clock::now(), end);
        ++cut;
        return;
    }
    s.clear_deadline();
    s.write_all("served", ec);
    served += ec ? 0 : 1;
}

TEST_P(NetLoad, SlowAndSilentClientsAreDroppedAndOthersServed) {
    constexpr int slow = 20;
    constexpr int silent = 20;
    rt().run([&] {
        over_streams([&](auto over) {
            auto listener = over.listen();
            std::atomic<int> served = 0;
            std::atomic<int> cut = 0;
            wait_group servers;
            servers.go([&] {
                for (;;) {
                    std::error_code ec;
                    auto accepted = listener.accept(ec);
                    if (ec) return;
                    servers.go([&, s = std::move(accepted)]() mutable { serve_in_time(s, served, cut); });
                }
            });
            wait_group clients;
            for (int i = 0; i < slow + silent; ++i) {
                clients.go([&, i] {
                    auto s = over.connect(listener);
                    std::error_code ec;
                    char b[1];
                    while (i < slow && !ec) {
                        s.write_all("x", ec);
                        sleep_for(1ms);  // the client is this slow
                    }
                    EXPECT_EQ(s.read_some(b, ec), 0U) << "it is not served";
                });
            }
            int good = 0;
            for (int i = 0; i < 10; ++i) {  // on a slow machine it may be cut, too, and tries again
                auto s = over.connect(listener);
                std::error_code ec;
                s.write_all(std::string(1000, 'r'), ec);
                char b[6];
                good += s.read(b, ec) == 6 ? 1 : 0;
            }
            EXPECT_GT(good, 0);
            clients.wait();
            listener.close();
            servers.wait();
            EXPECT_EQ(served, good);
            EXPECT_EQ(cut, slow + silent + 10 - good);
        });
    });
}

}  // namespace
}  // namespace weft::test
