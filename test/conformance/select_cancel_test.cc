// select_cancel_test.cc: selects that are cancelled, and selects with a cancellation as one of
// their cases.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using SelectCancel = procs_test;
WEFT_SWEEP(SelectCancel);

TEST_P(SelectCancel, ACancellationMayBeACase) {
    const chan<int> c;
    std::optional<future<std::size_t>> f;
    std::atomic<int> called = 0;
    park(1, [&] {
        f = rt().async([&] {
            return select(on_recv(c, [&](auto) { called += 100; }), on_cancel([&] { ++called; }),
                          on_send(c, 1, [&] { called += 100; }));
        });
    });
    f->cancel();
    EXPECT_EQ(f->get(), 1U);
    EXPECT_EQ(called, 1);
    EXPECT_EQ(c.try_send(1), chan_status::would_block);
    EXPECT_EQ(c.try_recv().status, chan_status::would_block);
}

TEST_P(SelectCancel, AnOuterDeadlineCountsAsACancellation) {
    rt().run([] {
        const chan<int> c;
        EXPECT_EQ(with_timeout(300us, [&] { return select(recv_case(c), cancel_case()).index(); }), 1U);
        EXPECT_EQ(with_timeout(0s, [&] { return select(cancel_case(), recv_case(c)).index(); }), 0U);
        EXPECT_EQ(with_timeout(300us, [&] { return select(recv_case(c), timeout_case(1h), cancel_case()).index(); }),
                  2U);
        EXPECT_EQ(with_timeout(1h, [&] { return select(recv_case(c), timeout_case(300us), cancel_case()).index(); }),
                  1U);
        EXPECT_EQ(with_timeout(300us, [&] { return select(cancel_case()).index(); }), 0U);
    });
}

TEST_P(SelectCancel, AReadyCasePrecedesACancellation) {
    const int rounds = scaled(500);
    rt().run([rounds] {
        const chan<int> c(1);
        with_timeout(0s, [&] {
            for (int i = 0; i < rounds; ++i) {
                c.send(1);
                ASSERT_EQ(select(cancel_case(), recv_case(c)).index(), 1U);
                ASSERT_EQ(select(cancel_case(), send_case(c, 1)).index(), 1U);
                ASSERT_EQ(select_first(cancel_case(), recv_case(c)).index(), 1U);
                ASSERT_EQ(select(cancel_case(), otherwise()).index(), 1U);
            }
        });
    });
}

TEST_P(SelectCancel, WithoutACancellationTheCaseIsNeverChosen) {
    rt().run([] {
        EXPECT_EQ(select(cancel_case(), timeout_case(1ms)).index(), 1U);
        EXPECT_EQ(shield([] { return select(cancel_case(), timeout_case(1ms)).index(); }), 1U);
        with_timeout(0s,
                     [] { EXPECT_EQ(shield([] { return select(cancel_case(), timeout_case(1ms)).index(); }), 1U); });
    });
}

TEST_P(SelectCancel, ItsFunctionRunsInTheCancelledContext) {
    rt().run([] {
        with_timeout(0s, [] {
            ending inside = ending::served;
            EXPECT_EQ(select(on_cancel([&] { inside = ending_of([] { sleep_for(1us); }); })), 0U);
            EXPECT_EQ(inside, ending::timed_out);
        });
    });
}

TEST_P(SelectCancel, APlainThreadMayUseTheCase) {
    std::stop_source source;
    const chan<int> c;
    std::atomic<std::size_t> chosen = 99;
    std::thread other(
        [&] { with_stop_token(source.get_token(), [&] { chosen = select(recv_case(c), cancel_case()).index(); }); });
    source.request_stop();
    other.join();
    EXPECT_EQ(chosen, 1U);
}

// A select with nothing but on_cancel waits for its own cancellation.
TEST_P(SelectCancel, ACancellationMayBeTheOnlyCase) {
    std::optional<future<std::size_t>> f;
    park(1, [&] { f = rt().async([] { return select(on_cancel([] {})); }); });
    EXPECT_FALSE(f->is_ready());
    f->cancel();
    EXPECT_EQ(f->get(), 0U);
}

// The cancellation comes at the moment of a hand-off. Either the value has been received, or it is
// still with the sender.
TEST_P(SelectCancel, ACancellationRacingWithAHandOffLosesNothing) {
    const int rounds = scaled(3000);
    std::atomic<int> wrong = 0;
    const auto race = [&](auto start) {
        for (int i = 0; i < rounds; ++i) {
            const chan<int> a(static_cast<std::size_t>(i % 2));
            const chan<int> b;
            auto f = start([&] {
                int got = 0;
                const auto take = [&](std::optional<int> v) { got = v.value_or(-1); };
                if (i % 3 == 0) {
                    select(on_recv(a, take), on_cancel([] {}), on_recv(b, take));
                } else {
                    try {
                        select(on_recv(b, take), on_recv(a, take));
                    } catch (const cancelled&) {}
                }
                return got;
            });
            const chan<int>& to = i % 4 < 2 ? a : b;
            bool sent = false;
            if (i % 5 < 2) sent = to.try_send(7) == chan_status::ok;
            f.cancel();
            if (!sent) sent = to.try_send(7) == chan_status::ok;
            const int got = f.get();
            const bool left = to.try_recv().status == chan_status::ok;
            wrong += sent != (got == 7 || left) || (got == 7 && left);
        }
    };
    std::thread plain([&] { race([&](auto f) { return rt().async(f); }); });
    rt().run([&] { race([](auto f) { return async(f); }); });
    plain.join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft::test
