// select_timeout_test.cc: selects with a time limit.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <thread>
#include <variant>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using SelectTimeout = procs_test;
WEFT_SWEEP(SelectTimeout);

// Runs selects that time out after `limit`, in green threads and plain ones. Returns how many were
// wrong or returned too early.
int early_or_wrong(steady_clock::duration limit) {
    const chan<int> c;
    const chan<int> nil = chan<int>::nil();
    int wrong = 0;
    auto start = steady_clock::now();
    wrong += select(on_recv(c, [](auto) {}), on_send(c, 1, [] {}), on_timeout(limit, [] {})) != 2;
    wrong += steady_clock::now() - start < limit;
    start = steady_clock::now();
    wrong += select(timeout_case(limit), recv_case(nil)).index() != 0;
    wrong += steady_clock::now() - start < limit;
    start = steady_clock::now();
    wrong += select(on_timeout(start + limit, [] {})) != 0;
    wrong += steady_clock::now() < start + limit;
    return wrong;
}

TEST_P(SelectTimeout, IsNeverEarly) {
    for (const auto limit : {1us, 50us, 1000us, 7000us}) {
        EXPECT_EQ(rt().run([limit] { return early_or_wrong(limit); }), 0);
        EXPECT_EQ(early_or_wrong(limit), 0);
    }
}

TEST_P(SelectTimeout, TheEarliestOfSeveralTimeoutsCounts) {
    rt().run([] {
        const chan<int> c;
        EXPECT_EQ(select(on_timeout(1h, [] {}), on_timeout(1ms, [] {}), on_recv(c, [](auto) {}), on_timeout(2h, [] {})),
                  1U);
        EXPECT_EQ(select(on_timeout(1ms, [] {}), on_timeout(1h, [] {})), 0U);
        EXPECT_EQ(select(timeout_case(std::chrono::hours::max()), timeout_case(0s)).index(), 1U);
        const auto when = steady_clock::now() + 1ms;
        EXPECT_EQ(select(timeout_case(when), timeout_case(when)).index(), 0U);
    });
}

TEST_P(SelectTimeout, AReadyCasePrecedesAnExpiredTimeout) {
    const int rounds = scaled(2000);
    rt().run([rounds] {
        const chan<int> c(1);
        for (int i = 0; i < rounds; ++i) {
            c.send(1);
            ASSERT_EQ(select(timeout_case(0s), recv_case(c), timeout_case(-1s)).index(), 1U);
            ASSERT_EQ(select(timeout_case(steady_clock::time_point::min()), send_case(c, 1)).index(), 1U);
            ASSERT_TRUE(c.try_recv());
        }
    });
}

TEST_P(SelectTimeout, OtherwisePrecedesAFutureTimeout) {
    rt().run([] {
        const chan<int> c;
        const auto start = steady_clock::now();
        EXPECT_EQ(select(recv_case(c), timeout_case(1h), otherwise()).index(), 2U);
        EXPECT_EQ(select(otherwise(), timeout_case(std::chrono::hours::max())).index(), 0U);
        EXPECT_LT(steady_clock::now() - start, 1h);
    });
}

TEST_P(SelectTimeout, TimesBeyondTheClockMeanForEver) {
    using std::chrono::duration;
    rt().run([] {
        const chan<int> c;
        const auto answered = [&c](auto limit) {
            go([c] {
                weft::yield();
                c.send(1);
            });
            return select(recv_case(c), timeout_case(limit)).index() == 0;
        };
        EXPECT_TRUE(answered(std::chrono::hours::max()));
        EXPECT_TRUE(answered(std::chrono::nanoseconds::max()));
        EXPECT_TRUE(answered(std::chrono::years::max()));
        EXPECT_TRUE(answered(duration<double>(1e300)));
        EXPECT_TRUE(answered(duration<float>(std::numeric_limits<float>::infinity())));
        EXPECT_TRUE(answered(duration<unsigned long long, std::ratio<1>>::max()));
        EXPECT_TRUE(answered(steady_clock::time_point::max()));
        EXPECT_TRUE(answered(std::chrono::system_clock::time_point::max()));
    });
}

TEST_P(SelectTimeout, TimesBelowTheClockCountAsPast) {
    using std::chrono::duration;
    rt().run([] {
        const chan<int> c;
        const auto past = [&c](auto limit) { return select(recv_case(c), timeout_case(limit)).index() == 1; };
        EXPECT_TRUE(past(std::chrono::hours::min()));
        EXPECT_TRUE(past(duration<double>(-1e300)));
        EXPECT_TRUE(past(-duration<double>(std::numeric_limits<double>::infinity())));
        EXPECT_TRUE(past(steady_clock::time_point::min()));
        EXPECT_TRUE(past(std::chrono::system_clock::time_point::min()));
        EXPECT_TRUE(past(duration<signed char>(-128)));
    });
}

TEST_P(SelectTimeout, ATimedOutSelectIsNotServed) {
    rt().run([] {
        const chan<int> c;
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(select(recv_case(c), send_case(c, 1), recv_case(c), timeout_case(300us)).index(), 3U);
            EXPECT_EQ(c.try_send(1), chan_status::would_block);
            EXPECT_EQ(c.try_recv().status, chan_status::would_block);
        }
    });
}

// The timeout coincides with the hand-off, again and again. Both sides must agree on what happened.
class SelectTimeoutRace : public procs_test {
protected:
    static constexpr int parties = 6;

    // Sends `each` numbers, starting at `from`, by selects on both channels, and marks those that
    // were taken.
    static void send_all(const chan<int>& a, const chan<int>& b, int from, int each, tally& sent) {
        prng random(static_cast<uint64_t>(from) + 1);
        for (int i = from; i < from + each; ++i) {
            const auto limit = std::chrono::microseconds(random.below(30));
            const bool done = random.one_in(2)
                                  ? select(send_case(a, int{i}), timeout_case(limit), send_case(b, int{i})).index() != 1
                                  : select(send_case(b, int{i}), timeout_case(limit)).index() != 1;
            if (done) sent.mark(static_cast<std::size_t>(i));
        }
    }

    static void receive_all(
        const chan<int>& a, const chan<int>& b, uint64_t seed, const std::atomic<bool>& over, tally& received) {
        prng random(seed);
        while (!over) {
            const auto mark = [&](std::optional<int> v) { received.mark(static_cast<std::size_t>(v.value_or(-1))); };
            select(on_recv(a, mark), on_timeout(std::chrono::microseconds(random.below(30)), [] {}), on_recv(b, mark));
        }
    }
};

WEFT_SWEEP(SelectTimeoutRace);

TEST_P(SelectTimeoutRace, LosesAndDuplicatesNothing) {
    const int each = scaled(2000);
    for (const std::size_t cap : {0U, 1U, 4U}) {
        tally sent(static_cast<std::size_t>(parties * each));
        tally received(sent.size());
        const chan<int> a(cap);
        const chan<int> b;
        rt().run([&] {
            wait_group senders;
            wait_group receivers;
            std::atomic<bool> over = false;
            for (int p = 0; p < parties; ++p) {
                senders.go([&, p] { send_all(a, b, p * each, each, sent); });
                receivers.go([&, p] { receive_all(a, b, 1000 + static_cast<uint64_t>(p), over, received); });
            }
            senders.wait();
            over = true;
            receivers.wait();
        });
        while (const auto left = a.try_recv()) received.mark(static_cast<std::size_t>(left.value.value_or(-1)));
        EXPECT_EQ(b.try_recv().status, chan_status::would_block);
        EXPECT_TRUE(received.same_as(sent)) << "capacity " << cap;
    }
}

TEST_P(SelectTimeoutRace, LosesAndDuplicatesNothingBetweenPlainThreads) {
    const int each = scaled(2000);
    tally sent(static_cast<std::size_t>(2 * each));
    tally received(sent.size());
    const chan<int> a;
    const chan<int> b;
    std::atomic<bool> over = false;
    std::thread sender([&] { send_all(a, b, 0, each, sent); });
    std::thread receiver([&] { receive_all(a, b, 7, over, received); });
    rt().go([&] { receive_all(b, a, 8, over, received); });
    rt().run([&] { send_all(b, a, each, each, sent); });
    sender.join();
    over = true;
    receiver.join();
    rt().drain();
    EXPECT_TRUE(received.same_as(sent));
}

}  // namespace
}  // namespace weft::test
