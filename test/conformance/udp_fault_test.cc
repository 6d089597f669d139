// udp_fault_test.cc: UDP on a network that loses, doubles, delays and reorders
// (support/datagram_proxy.h), with clients that ask again after a deadline.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/connections.h"
#include "support/datagram_proxy.h"
#include "support/eventually.h"
#include "support/outside_poller.h"
#include "support/pending_timers.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::const_buffer;
using net::endpoint;
using net::mutable_buffer;
using net::udp_socket;
using steady = std::chrono::steady_clock;

class UdpFault : public procs_test {
protected:
    static void SetUpTestSuite() { open_outside_poller(); }

    void TearDown() override {
        rt().drain();
        EXPECT_EQ(pending_timers(rt()), 0U) << "nobody waits any more";
        procs_test::TearDown();
    }
};

WEFT_SWEEP_OVER(UdpFault, 1U, 2U, 4U);

// A question is a number. Its answer is the number and the bytes that belong to it.
constexpr std::size_t answer_size = 200;

void serve(udp_socket& s, std::atomic<int>& served) {
    for (;;) {
        uint64_t number = 0;
        std::error_code ec;
        const auto [size, from, cut] = s.receive(mutable_buffer(&number, sizeof(number)), ec);
        if (ec) {
            EXPECT_EQ(ec, errc::closed) << ec.message();
            return;
        }
        EXPECT_EQ(size, sizeof(number));
        ++served;
        std::string answer(reinterpret_cast<const char*>(&number), sizeof(number));
        s.send_to(answer + secret_bytes(number, 0, answer_size), from);
    }
}

struct asked {
    int tries = 0;
    int late = 0;     // Answers to other questions, or a second time.
    int damaged = 0;  // Answers that differ from what the server sent.
    bool answered = false;
};

// Asks again whenever no answer comes in time.
asked ask(udp_socket& s, uint64_t number, int most_tries, std::chrono::milliseconds wait) {
    asked a;
    std::array<char, 1000> b;
    while (a.tries < most_tries) {
        ++a.tries;
        s.send(const_buffer(&number, sizeof(number)));
        const auto when = steady::now() + wait;
        s.set_read_deadline(when);
        for (;;) {
            std::error_code ec;
            const auto [size, from, cut] = s.receive(b, ec);
            if (ec) {
                EXPECT_EQ(ec, errc::timed_out) << ec.message();
                EXPECT_GE(steady::now(), when);
                break;
            }
            uint64_t of = 0;
            EXPECT_EQ(size, sizeof(of) + answer_size);
            std::memcpy(&of, b.data(), sizeof(of));
            if (!are_secret_bytes(b.data() + sizeof(of), answer_size, of, 0)) {
                ++a.damaged;
            } else if (of != number) {
                ++a.late;
            } else {
                a.answered = true;
                return a;
            }
        }
    }
    return a;
}

constexpr int for_ever = 1'000'000;

TEST_P(UdpFault, ARepeatedRequestIsAnswered) {
    constexpr int clients = 8;
    const int questions = scaled(40);
    rt().run([&] {
        udp_socket server(endpoint::loopback(0));
        datagram_proxy proxy(
            server.local_endpoint().port(),
            {.lose_one_in = 4, .double_one_in = 4, .damage_one_in = 20, .jitter = 3ms, .seed = announced_seed()});
        std::atomic<int> served = 0;
        std::atomic<int> answered = 0;
        std::atomic<int> tries = 0;
        wait_group all;
        wait_group servers;
        for (int i = 0; i < 3; ++i) servers.go([&] { serve(server, served); });
        for (int c = 0; c < clients; ++c) {
            all.go([&, c] {
                udp_socket s = udp_socket::connected_to(endpoint::loopback(proxy.port()));
                for (int q = 0; q < questions; ++q) {
                    const asked a = ask(s, static_cast<uint64_t>(c * questions + q), for_ever, 6ms);
                    answered += a.answered ? 1 : 0;
                    tries += a.tries;
                }
            });
        }
        all.wait();
        server.close();
        servers.wait();
        const auto books = proxy.now();
        EXPECT_EQ(answered, clients * questions);
        EXPECT_GE(served, clients * questions);
        EXPECT_GE(tries, clients * questions);
        EXPECT_LE(served, tries + books.doubled) << "nothing is heard more often than the network has doubled it";
        if (scale() != 1) return;
        EXPECT_GT(tries, clients * questions) << "nothing was lost";
        EXPECT_GT(books.lost, 0);
        EXPECT_GT(books.doubled, 0);
        EXPECT_GT(books.damaged, 0);
        EXPECT_GT(books.overtaken, 0);
    });
}

// Each datagram that the network passes on is received unchanged, as often as it was passed on, and
// no other one.
TEST_P(UdpFault, DeliveredDatagramsAreUnchanged) {
    constexpr int count = 150;  // fits into the system's buffers
    rt().run([&] {
        for (const datagram_weather& w : {
                 datagram_weather{},
                 datagram_weather{.lose_one_in = 3, .seed = 2},
                 datagram_weather{.double_one_in = 3, .seed = 3},
                 datagram_weather{.jitter = 5ms, .seed = 4},
                 datagram_weather{.lose_one_in = 5, .double_one_in = 5, .delay = 2ms, .jitter = 5ms, .seed = 5},
             }) {
            udp_socket server(endpoint::loopback(0));
            datagram_proxy proxy(server.local_endpoint().port(), w);
            tally seen(count);
            std::atomic<int> received = 0;
            std::atomic<int> wrong = 0;
            wait_group receivers;
            for (int i = 0; i < 2; ++i) {
                receivers.go([&] {
                    for (;;) {
                        std::array<char, 200> b;
                        std::error_code ec;
                        const auto [size, from, cut] = server.receive(b, ec);
                        if (ec) return;
                        uint32_t number = 0;
                        std::memcpy(&number, b.data(), sizeof(number));
                        wrong += !cut && size == 4 + number % 100 && are_secret_bytes(b.data() + 4, size - 4, number, 0)
                                     ? 0
                                     : 1;
                        seen.mark(number);
                        ++received;
                    }
                });
            }
            udp_socket client = udp_socket::connected_to(endpoint::loopback(proxy.port()));
            for (uint32_t i = 0; i < count; ++i) {
                client.send(std::string(reinterpret_cast<const char*>(&i), sizeof(i)) + secret_bytes(i, 0, i % 100));
            }
            eventually([&] {
                const auto books = proxy.now();
                return books.taken == count && books.passed == count - books.lost + books.doubled &&
                       received == books.passed;
            });
            server.close();
            receivers.wait();
            const auto books = proxy.now();
            EXPECT_EQ(wrong, 0);
            int missing = 0;
            int doubles = 0;
            for (std::size_t i = 0; i < count; ++i) {
                EXPECT_LE(seen.count(i), 2U);
                missing += seen.count(i) == 0 ? 1 : 0;
                doubles += seen.count(i) == 2 ? 1 : 0;
            }
            EXPECT_EQ(missing, books.lost);
            EXPECT_EQ(doubles, books.doubled);
            EXPECT_EQ(books.lost > 0, w.lose_one_in != 0);
            EXPECT_EQ(books.doubled > 0, w.double_one_in != 0);
        }
    });
}

TEST_P(UdpFault, TrafficResumesAfterAPartition) {
    rt().run([] {
        udp_socket server(endpoint::loopback(0));
        datagram_proxy proxy(server.local_endpoint().port(), {});
        std::atomic<int> served = 0;
        wait_group servers;
        servers.go([&] { serve(server, served); });
        udp_socket s = udp_socket::connected_to(endpoint::loopback(proxy.port()));
        const asked first = ask(s, 1, for_ever, 20ms);
        EXPECT_TRUE(first.answered);
        eventually([&] { return served == first.tries; });  // each is served, sooner or later
        proxy.partition();
        const int before = served;
        const asked a = ask(s, 2, 3, 10ms);
        EXPECT_FALSE(a.answered);
        EXPECT_EQ(a.tries, 3);
        s.clear_deadline();
        char b[1];
        EXPECT_THROW(with_timeout(5ms, [&] { static_cast<void>(s.receive(b)); }), timed_out);
        wait_group receiver;
        std::error_code why;
        receiver.go([&] { static_cast<void>(s.receive(b, why)); });
        while (stats().waiting < 2) yield();  // and the server
        EXPECT_EQ(served, before);
        proxy.heal();
        std::error_code ec;
        const uint64_t number = 3;
        s.send(const_buffer(&number, sizeof(number)), ec);
        receiver.wait();
        EXPECT_FALSE(ec || why) << why.message();
        server.close();
        servers.wait();
    });
}

// The check of the answers can fail.
TEST_P(UdpFault, TheTestDetectsADamagedAnswer) {
    rt().run([] {
        udp_socket server(endpoint::loopback(0));
        datagram_proxy proxy(server.local_endpoint().port(), {.damage_one_in = 2, .seed = 7});
        std::atomic<int> served = 0;
        wait_group servers;
        servers.go([&] { serve(server, served); });
        udp_socket s = udp_socket::connected_to(endpoint::loopback(proxy.port()));
        int noticed = 0;
        for (uint64_t i = 0; i < 8; ++i) noticed += ask(s, i, for_ever, 5ms).damaged;
        EXPECT_GT(noticed, 0);
        server.close();
        servers.wait();
    });
}

}  // namespace
}  // namespace weft::test
