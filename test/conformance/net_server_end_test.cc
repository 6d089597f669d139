// net_server_end_test.cc: how a server ends: its runtime stops under load and still answers the
// requests it has begun; closing wakes each waiter once.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/connections.h"
#include "support/eventually.h"
#include "support/outside_poller.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::const_buffer;
using net::mutable_buffer;

class NetServerEnd : public procs_test {
protected:
    static void SetUpTestSuite() { open_outside_poller(); }
};

WEFT_SWEEP_OVER(NetServerEnd, 1U, 2U, 4U);

struct request {
    uint32_t key;
    uint32_t size;
};

// Requests that were begun, and requests whose answer was sent completely.
struct counts {
    std::atomic<int> begun = 0;
    std::atomic<int> answered = 0;
};

// Can be cancelled between two requests. A request that has begun is shielded, and takes a while.
template <typename Stream>
void serve_whole_requests(Stream& s, counts& all) {
    for (;;) {
        request r{};
        if (s.read(mutable_buffer(&r, sizeof(r))) != sizeof(r)) return;
        ++all.begun;
        shield([&] {
            sleep_for(1ms);
            std::error_code ec;
            const std::string answer = secret_bytes(r.key, 0, r.size);
            s.write_all(const_buffer(answer.data(), r.size / 2), ec);
            sleep_for(1ms);
            s.write_all(const_buffer(answer.data() + r.size / 2, answer.size() - r.size / 2), ec);
            all.answered += ec ? 0 : 1;
        });
    }
}

// Sends one request after another until the server is gone. Each answer is complete or absent.
// Returns how many were complete.
template <typename Stream>
int ask_until_the_end(Stream& s, uint32_t key, std::atomic<int>& answers, std::atomic<int>& torn) {
    int whole = 0;
    for (std::error_code ec; !ec; ++whole) {
        const request r{.key = key++, .size = 20'000};
        s.write_all(const_buffer(&r, sizeof(r)), ec);
        std::string got(r.size, ' ');
        const std::size_t n = ec ? 0 : s.read(got, ec);
        if (n < got.size()) {
            torn += n != 0 ? 1 : 0;
            break;
        }
        torn += are_secret_bytes(got.data(), n, r.key, 0) ? 0 : 1;
        ++answers;
    }
    return whole;
}

// No client gets half an answer: the server completes requests that have begun when it is stopped,
// within the deadline.
TEST_P(NetServerEnd, ABegunRequestIsAnswered) {
    over_streams([&](auto over) {
        runtime server({.procs = procs()});
        counts served;
        std::atomic<int> answers = 0;
        std::atomic<int> torn = 0;
        auto listener = over.listen();
        std::vector<typename decltype(over)::stream> clients;
        rt().run([&] {
            for (int i = 0; i < 20; ++i) {
                clients.push_back(over.connect(listener));
                server.go([&served, s = listener.accept()]() mutable { serve_whole_requests(s, served); });
            }
        });
        for (std::size_t i = 0; i < clients.size(); ++i) {
            rt().go([&, i] { ask_until_the_end(clients[i], static_cast<uint32_t>(i) << 16, answers, torn); });
        }
        const int enough = scaled(200);
        eventually([&] { return answers >= enough; });
        const stop_outcome outcome = server.shutdown(patience());
        rt().drain();
        EXPECT_EQ(outcome.abandoned, 0U);
        EXPECT_EQ(outcome.stragglers, 0U);
        EXPECT_EQ(served.answered, served.begun);
        EXPECT_EQ(answers, served.answered) << "each has arrived";
        EXPECT_EQ(torn, 0);
    });
}

// Each of hundreds of readers and writers is woken, and returns once.
TEST_P(NetServerEnd, CloseWakesEachOfManyOnce) {
    const int each = scaled(300);
    const std::string much(1 << 20, 'x');
    over_streams([&](auto over) {
        connection c(over);
        make_buffers_small(c.near);
        std::atomic<int> woken = 0;
        std::atomic<int> otherwise = 0;
        const auto book = [&](const std::error_code& ec) {
            ++woken;
            otherwise += ec == errc::closed ? 0 : 1;
        };
        park(2 * static_cast<uint64_t>(each), [&] {
            for (int i = 0; i < each; ++i) {
                rt().go([&] {
                    char b[1];
                    std::error_code ec;
                    static_cast<void>(c.near.read_some(b, ec));
                    book(ec);
                });
                rt().go([&] {
                    std::error_code ec;
                    c.near.write_all(much, ec);
                    book(ec);
                });
            }
        });
        c.near.close();
        rt().drain();
        EXPECT_EQ(woken, 2 * each);
        EXPECT_EQ(otherwise, 0);
    });
}

}  // namespace
}  // namespace weft::test
