// net_stress_test.cc: many sockets, sockets that come and go, and sockets with everything happening
// at once.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/connections.h"
#include "support/eventually.h"
#include "support/more_files.h"
#include "support/outside_poller.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/resources.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::const_buffer;
using net::mutable_buffer;

// Additional time that these tests may take.
std::chrono::seconds extra_time() {
    return std::chrono::seconds(number_from_environment("WEFT_STRESS_SECONDS", 0) != 0 ? 600 : 0);
}

class NetStress : public procs_test {
protected:
    NetStress() : procs_test(extra_time()) {}

    static void SetUpTestSuite() { open_outside_poller(); }
};

WEFT_SWEEP_OVER(NetStress, 1U, 2U, 4U);

// Sends a number, and receives its successor.
template <typename Stream>
bool ask(Stream& s, uint64_t number) {
    std::array<char, sizeof(number)> b;
    std::memcpy(b.data(), &number, sizeof(number));
    s.write_all(b);
    uint64_t answer = 0;
    if (s.read(b) != b.size()) return false;
    std::memcpy(&answer, b.data(), sizeof(answer));
    return answer == number + 1;
}

template <typename Stream>
void answer_all(Stream& s) {
    std::array<char, sizeof(uint64_t)> b;
    while (s.read(b) == b.size()) {
        uint64_t number = 0;
        std::memcpy(&number, b.data(), sizeof(number));
        ++number;
        std::memcpy(b.data(), &number, sizeof(number));
        s.write_all(b);
    }
}

// Each client asks once at first, and again when all are connected. Returns the number of right
// answers.
template <typename Over>
int connect_many(Over, int count) {
    std::atomic<int> right = 0;
    auto listener = Over::listen();
    wait_group servers;
    servers.go([&] {
        for (int i = 0; i < count; ++i) servers.go([s = listener.accept()]() mutable { answer_all(s); });
    });
    latch all_are_open(count);
    wait_group clients;
    for (int i = 0; i < count; ++i) {
        clients.go([&, i] {
            auto s = Over::connect(listener);
            const auto key = static_cast<uint64_t>(i);
            right += ask(s, key) ? 1 : 0;
            all_are_open.arrive_and_wait();
            right += ask(s, key + 1) ? 1 : 0;
        });
    }
    clients.wait();
    servers.wait();
    return right;
}

TEST_P(NetStress, TenThousandConnectionsWorkAtOnce) {
    const more_files limit;
    const int count = scaled(more_files::connections());
    if (count < scaled(1000)) GTEST_SKIP() << "this process may open too few files: ulimit -Hn";
    over_streams([&](auto over) {
        EXPECT_EQ(rt().run([&] { return connect_many(over, count); }), 2 * count) << "of " << count << " connections";
    });
    RecordProperty("connections", count);
}

// One side or the other closes first, or the connection is reset: each leaves a different state in
// the system.
template <typename Over>
void connect_and_close(const typename Over::listener& listener, int round) {
    auto s = Over::connect(listener);
    if (std::is_same_v<Over, over_tcp> && round % 2 == 0) reset_on_close(s);
    std::error_code ec;
    char b[1];
    if (round % 4 < 2) {
        s.write_all("x", ec);
        EXPECT_FALSE(ec);
        EXPECT_EQ(s.read_some(b, ec), 1U) << ec.message();
    } else {
        s.write_all("q", ec);
        static_cast<void>(s.read_some(b, ec));  // the end
        EXPECT_FALSE(ec) << ec.message();
    }
}

// Cycles of connecting, a byte there and back, and closing, eight at a time.
template <typename Over>
void churn(Over, int cycles) {
    auto listener = Over::listen();
    wait_group servers;
    for (int i = 0; i < 2; ++i) {
        servers.go([&] {
            for (;;) {
                std::error_code ec;
                auto accepted = listener.accept(ec);
                if (ec == errc::closed) return;
                EXPECT_FALSE(ec) << ec.message();
                servers.go([s = std::move(accepted)]() mutable {
                    std::error_code why;
                    char b[1];
                    while (s.read_some(b, why) == 1 && b[0] != 'q') s.write_all(b, why);
                });
            }
        });
    }
    wait_group clients;
    std::atomic<int> next = 0;
    for (int i = 0; i < 8; ++i) {
        clients.go([&] {
            for (int n = next++; n < cycles; n = next++) connect_and_close<Over>(listener, n);
        });
    }
    clients.wait();
    listener.close();
    servers.wait();
}

TEST_P(NetStress, ClosedConnectionsLeaveNothingBehind) {
    const int cycles = number_from_environment("WEFT_STRESS_SECONDS", 0) != 0 ? 100'000 : scaled(4000);
    constexpr int at_a_time = 2000;
    const auto some = [&](int count) {
        rt().run([&] { over_streams([&](auto over) { churn(over, count); }); });
        rt().drain();
    };
    some(std::min(cycles, at_a_time));
    give_heap_back();
    const resources before = resources::now();
    for (int done = 0; done < cycles; done += 2 * at_a_time) some(std::min(cycles, at_a_time));
    give_heap_back();
    const resources after = resources::now();
    EXPECT_EQ(rt().stats().live, 0U);
    eventually([&] { return resources::now().fds <= before.fds; });
    if (!built_with_sanitizer && !emulated) {
        EXPECT_LT(after.resident_kib, before.resident_kib + 4096) << "of " << before.resident_kib;
    }
}

// ---- Descriptors whose numbers are reused at once.

// How a conversation ends. clean: both sides receive everything. The others end somewhere in
// between.
enum class way_to_end { clean, client_closes, client_resets, server_closes, other_closes, deadline, count };

struct conversation {
    uint64_t key;
    way_to_end how;
    std::size_t size;  // bytes in each direction

    [[nodiscard]] static conversation at_random(prng& random) {
        return {random.next(),
                random.one_in(2) ? way_to_end::clean : static_cast<way_to_end>(random.below(int(way_to_end::count))),
                static_cast<std::size_t>(1 + random.below(20'000))};
    }
};

// Reads the bytes of `key` until all have come or the stream ends. Returns how many bytes came. A
// wrong byte counts as one of another connection.
template <typename Stream>
std::size_t read_secret(Stream& s, uint64_t key, std::size_t size, std::atomic<int>& strange, std::error_code& ec) {
    char b[3000];
    std::size_t got = 0;
    while (got < size) {
        const std::size_t n = s.read_some(b, ec);
        if (!are_secret_bytes(b, n, key, got)) ++strange;
        got += n;
        if (ec || n == 0) break;
    }
    if (got > size) ++strange;
    return got;
}

class conversations {
public:
    template <typename Over>
    void serve(typename Over::listener& listener) {
        wait_group all;
        for (;;) {
            std::error_code ec;
            auto accepted = listener.accept(ec);
            if (ec) break;
            all.go([this, s = std::move(accepted)]() mutable { answer(s); });
        }
        all.wait();
    }

    template <typename Over>
    void begin(const typename Over::listener& listener, prng random) {
        const conversation c = conversation::at_random(random);
        auto s = Over::connect(listener);
        if (std::is_same_v<Over, over_tcp> && c.how == way_to_end::client_resets) reset_on_close(s);
        if (c.how == way_to_end::deadline) s.set_deadline(std::chrono::steady_clock::now() + random.below(300) * 1us);
        std::error_code ec;
        s.write_all(const_buffer(&c, sizeof(c)), ec);
        wait_group both;
        both.go([&] {
            std::error_code why;
            s.write_all(secret_bytes(c.key, 0, c.size), why);
            if (c.how == way_to_end::clean && why) ++broken_;
            if (c.how == way_to_end::other_closes) s.close();
        });
        if (c.how == way_to_end::client_closes || c.how == way_to_end::client_resets) {
            if (random.one_in(2)) yield();
            s.close();
        }
        const std::size_t got = read_secret(s, ~c.key, c.size, strange_, ec);
        if (c.how == way_to_end::clean && (ec || got != c.size)) ++broken_;
        both.wait();
        ++ended_[static_cast<std::size_t>(c.how)];
    }

    void check(int count) const {
        EXPECT_EQ(strange_, 0) << "bytes of another connection";
        EXPECT_EQ(broken_, 0) << "connections that were to end well";
        int sum = 0;
        for (const std::atomic<int>& n : ended_) sum += n;
        EXPECT_EQ(sum, count);
        EXPECT_GT(ended_[0], 0);
    }

private:
    template <typename Stream>
    void answer(Stream& s) {
        conversation c{};
        std::error_code ec;
        if (s.read(mutable_buffer(&c, sizeof(c)), ec) != sizeof(c)) return;
        wait_group both;
        both.go([&] {
            std::error_code why;
            s.write_all(secret_bytes(~c.key, 0, c.how == way_to_end::server_closes ? c.size / 2 : c.size), why);
            if (c.how == way_to_end::clean && why) ++broken_;
            if (c.how == way_to_end::server_closes) s.close();
        });
        const std::size_t got = read_secret(s, c.key, c.size, strange_, ec);
        if (c.how == way_to_end::clean && (ec || got != c.size)) ++broken_;
        both.wait();
    }

    std::atomic<int> strange_ = 0;
    std::atomic<int> broken_ = 0;
    std::array<std::atomic<int>, static_cast<std::size_t>(way_to_end::count)> ended_{};
};

// The number of a closed descriptor is reused at once. Half of the connections are closed while
// others, of another kind, read and write. None gets bytes, an end or an error of another one.
TEST_P(NetStress, NoConnectionReceivesBytesOfAnother) {
    prng random(announced_seed());
    conversations all;
    const int count = scaled(1500);
    rt().run([&] {
        auto tcp = over_tcp::listen();
        auto local = over_unix::listen();
        wait_group servers;
        servers.go([&] { all.serve<over_tcp>(tcp); });
        servers.go([&] { all.serve<over_unix>(local); });
        wait_group clients;
        std::atomic<int> next = 0;
        for (int i = 0; i < 16; ++i) {
            clients.go([&, r = random.split()]() mutable {
                while (next++ < count) {
                    r.one_in(2) ? all.begin<over_tcp>(tcp, r.split()) : all.begin<over_unix>(local, r.split());
                }
            });
        }
        clients.wait();
        tcp.close();
        local.close();
        servers.wait();
    });
    all.check(count);
}

// ---- Everything at once to one connection.

// Bytes go in a circle: two threads write and two read here, and the peer echoes. Then the
// connection is closed.
TEST_P(NetStress, CloseEndsTwoReadersAndTwoWriters) {
    prng random(announced_seed());
    for (int round = 0; round < scaled(40); ++round) {
        over_streams([&](auto over) {
            connection c(over);
            std::atomic<uint64_t> written = 0;
            std::atomic<uint64_t> read = 0;
            std::atomic<int> closed = 0;
            std::atomic<uint64_t> strange = 0;
            const auto until_closed = [&](auto call) {
                std::error_code ec;
                while (!ec) call(ec);
                EXPECT_EQ(ec, errc::closed) << ec.message();
                closed += ec == errc::closed ? 1 : 0;
            };
            rt().go([&] {
                char b[5000];
                std::error_code ec;
                while (const std::size_t n = c.far.read_some(b, ec)) c.far.write_all(const_buffer(b, n), ec);
            });
            for (int i = 0; i < 2; ++i) {
                rt().go([&] {
                    const std::string text(10'000, 'x');
                    until_closed([&](std::error_code& ec) {
                        const std::size_t n = c.near.write_all(text, ec);
                        EXPECT_TRUE(ec || n == text.size());
                        written += n;
                    });
                });
                rt().go([&] {
                    char b[3000];
                    until_closed([&](std::error_code& ec) {
                        const std::size_t n = c.near.read_some(b, ec);
                        read += n;
                        strange += static_cast<uint64_t>(std::count_if(b, b + n, [](char x) { return x != 'x'; }));
                    });
                });
            }
            const uint64_t enough = static_cast<uint64_t>(random.below(200'000));
            eventually([&] { return read >= enough; });
            c.near.close();
            rt().drain();
            EXPECT_EQ(closed, 4);
            EXPECT_EQ(strange, 0U);
            EXPECT_LE(read, written);
        });
    }
}

// A byte, a cancellation, and perhaps a close at the same moment. The byte is read once, by the
// first reader. A cancellation loses no byte that was read.
TEST_P(NetStress, ACancellationAndACloseLoseNoByte) {
    prng random(announced_seed());
    std::array<std::atomic<int>, 3> outcomes{};  // read, cancelled, closed
    for (int round = 0; round < scaled(400); ++round) {
        const bool closes = random.one_in(3);
        const bool has_error_code = random.one_in(2);
        const auto body = [&](auto over) {
            connection c(over);
            std::atomic<int> ready = 0;
            char b[1] = {};
            std::size_t got = 0;
            bool was_cancelled = false;
            std::error_code ec;
            wait_group others;
            scope([&](task_scope& s) {
                s.go([&, delay = random.below(3)] {
                    ++ready;
                    for (int i = 0; i < delay; ++i) yield();
                    try {
                        if (has_error_code) {
                            got = c.near.read_some(b, ec);
                            was_cancelled = ec == errc::cancelled;
                        } else {
                            got = c.near.read_some(b);
                        }
                    } catch (const cancelled&) {
                        was_cancelled = true;
                    } catch (const std::system_error& e) {
                        ec = e.code();
                    }
                });
                const auto at_once = [&](int delay, auto act) {
                    others.go([&ready, delay, act] {
                        eventually([&] { return ready > 0; });
                        for (int i = 0; i < delay; ++i) yield();
                        act();
                    });
                };
                at_once(random.below(4), [&] {
                    std::error_code why;
                    c.far.write_all("x", why);
                    EXPECT_TRUE(!why || closes) << why.message();
                });
                at_once(random.below(4), [&, later = random.below(2) * random.below(300)] {
                    if (later != 0)
                        sleep_for(std::chrono::microseconds(later));  // otherwise it mostly comes before the event
                    s.cancel();
                });
                if (closes) at_once(random.below(4), [&] { c.near.close(); });
                shield([&] { others.wait(); });
            });
            EXPECT_EQ(got + (was_cancelled ? 1U : 0U) + (ec == errc::closed ? 1U : 0U), 1U) << ec.message();
            ++outcomes[got == 1 ? 0 : was_cancelled ? 1 : 2];
            EXPECT_TRUE(got == 0 || b[0] == 'x');
            EXPECT_TRUE(closes || got == 1 || c.near.read_some(b) == 1U) << "it is still there";
        };
        rt().run([&] { over_streams(body); });
    }
    RecordProperty("read", outcomes[0]);
    RecordProperty("cancelled", outcomes[1]);
    RecordProperty("closed", outcomes[2]);
    EXPECT_GT(outcomes[0], 0);
    EXPECT_GT(outcomes[1] + outcomes[2], 0);
}

}  // namespace
}  // namespace weft::test
