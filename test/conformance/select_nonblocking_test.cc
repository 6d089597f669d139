// select_nonblocking_test.cc: the result of a select in every state of a channel. It sees all of
// its channels at one instant.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/closed_now.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using SelectNonblocking = procs_test;
WEFT_SWEEP(SelectNonblocking);

// The state of a case for a channel.
enum class readiness {
    never,
    now,
    closed,  // now, and a send throws
};

struct case_state {
    const char* name;
    std::function<chan<int>()> make;
    readiness send;
    readiness receive;
};

chan<int> filled_from_100(std::size_t cap, int values) {
    chan<int> c(cap);
    for (int i = 0; i < values; ++i) c.send(i + 100);
    return c;
}

const std::vector<case_state>& quiet_case_states() {
    using enum readiness;
    static const std::vector<case_state> all = {
        {"nil", [] { return chan<int>::nil(); }, never, never},
        {"unbuffered", [] { return chan<int>(); }, never, never},
        {"empty", [] { return chan<int>(2); }, now, never},
        {"half full", [] { return filled_from_100(2, 1); }, now, now},
        {"full", [] { return filled_from_100(2, 2); }, never, now},
        {"closed unbuffered", [] { return closed_now(chan<int>()); }, closed, closed},
        {"closed empty", [] { return closed_now(chan<int>(2)); }, closed, closed},
        {"closed half full", [] { return closed_now(filled_from_100(2, 1)); }, closed, now},
        {"closed full", [] { return closed_now(filled_from_100(2, 2)); }, closed, now},
    };
    return all;
}

// A select with one channel case and another case, `last`, which is taken when the channel is not
// ready. Returns 0 or 1 for the case taken, 2 if it threw channel_closed.
template <typename Last>
int outcome_of_send(const chan<int>& c, Last last) {
    try {
        return static_cast<int>(select(on_send(c, 7, [] {}), last()));
    } catch (const channel_closed&) {
        return 2;
    }
}

int expected_of_send(readiness r) { return r == readiness::never ? 1 : r == readiness::now ? 0 : 2; }

template <typename Last>
void expect_every_state_answered(Last last) {
    for (const case_state& s : quiet_case_states()) {
        EXPECT_EQ(outcome_of_send(s.make(), last), expected_of_send(s.send)) << s.name;

        std::optional<int> got;
        int calls = 0;
        const chan<int> c = s.make();
        const std::size_t i = select(on_recv(c,
                                             [&](std::optional<int> v) {
                                                 got = v;
                                                 ++calls;
                                             }),
                                     last());
        EXPECT_EQ(i, s.receive == readiness::never ? 1U : 0U) << s.name;
        EXPECT_EQ(calls, s.receive == readiness::never ? 0 : 1) << s.name;
        EXPECT_EQ(got, s.receive == readiness::now ? std::optional(100) : std::nullopt) << s.name;
    }
}

TEST_P(SelectNonblocking, OtherwiseIsChosenIffNoCaseIsReady) {
    rt().run([] { expect_every_state_answered([] { return otherwise([] {}); }); });
}

TEST_P(SelectNonblocking, APastTimeoutEqualsOtherwise) {
    rt().run([] {
        expect_every_state_answered([] { return on_timeout(0s, [] {}); });
        expect_every_state_answered([] { return on_timeout(-1h, [] {}); });
        expect_every_state_answered([] { return on_timeout(std::chrono::nanoseconds::min(), [] {}); });
        expect_every_state_answered([] { return on_timeout(steady_clock::now() - 1s, [] {}); });
        expect_every_state_answered([] { return on_timeout(steady_clock::time_point::min(), [] {}); });
        expect_every_state_answered([] { return on_timeout(steady_clock::time_point{}, [] {}); });
        expect_every_state_answered([] { return on_timeout(std::chrono::system_clock::time_point::min(), [] {}); });
    });
}

TEST_P(SelectNonblocking, ATimeoutIsChosenIfNoCaseBecomesReady) {
    rt().run([] { expect_every_state_answered([] { return on_timeout(500us, [] {}); }); });
}

TEST_P(SelectNonblocking, APlainThreadGetsTheSameAnswers) {
    expect_every_state_answered([] { return otherwise([] {}); });
    expect_every_state_answered([] { return on_timeout(0s, [] {}); });
    expect_every_state_answered([] { return on_timeout(500us, [] {}); });
}

TEST_P(SelectNonblocking, TheValueFormGivesTheSameAnswers) {
    rt().run([] {
        for (const case_state& s : quiet_case_states()) {
            const chan<int> c = s.make();
            auto r = select(recv_case(c), otherwise());
            EXPECT_EQ(r.index(), s.receive == readiness::never ? 1U : 0U) << s.name;
            if (r.index() == 0) {
                EXPECT_EQ(std::get<0>(r).has_value(), s.receive == readiness::now) << s.name;
            }
            if (s.send == readiness::closed) {
                EXPECT_THROW(static_cast<void>(select(send_case(c, 7), otherwise())), channel_closed) << s.name;
            } else {
                EXPECT_EQ(select(send_case(s.make(), 7), otherwise()).index(), s.send == readiness::never ? 1U : 0U)
                    << s.name;
            }
        }
    });
}

// Without `otherwise` a select waits, as long as it takes, exactly if no case is ready.
TEST_P(SelectNonblocking, WithoutOtherwiseItBlocksIffNoCaseIsReady) {
    for (const case_state& s : quiet_case_states()) {
        for (const bool sends : {true, false}) {
            const readiness r = sends ? s.send : s.receive;
            const chan<int> c = s.make();
            const auto act = [&] {
                return rt().async([sends, c] {
                    const chan<int> nil = chan<int>::nil();
                    return sends ? select(on_send(c, 1, [] {}), on_send(nil, 1, [] {}))
                                 : select(on_recv(nil, [](auto) {}), on_recv(c, [](auto) {}));
                });
            };
            if (r == readiness::never) {
                std::optional<future<std::size_t>> waiting;
                park(1, [&] { waiting = act(); });
                EXPECT_FALSE(waiting->is_ready()) << s.name;
                waiting->cancel();
                EXPECT_THROW(waiting->get(), cancelled) << s.name;
            } else if (sends && r == readiness::closed) {
                EXPECT_THROW(act().get(), channel_closed) << s.name;
            } else {
                EXPECT_EQ(act().get(), sends ? 0U : 1U) << s.name;
            }
            rt().drain();
        }
    }
}

TEST_P(SelectNonblocking, AWaiterMakesTheOtherSideReady) {
    for (const std::size_t cap : {0U, 1U, 3U}) {
        const chan<int> full = filled_from_100(cap, static_cast<int>(cap));
        park(1, [&] { rt().go([full] { full.send(200); }); });
        for (std::size_t i = 0; i <= cap; ++i) EXPECT_EQ(select(recv_case(full), otherwise()).index(), 0U);
        EXPECT_EQ(select(recv_case(full), otherwise()).index(), 1U);

        const chan<int> empty(cap);
        std::atomic<int> got = 0;
        park(1, [&] { rt().go([empty, &got] { got = empty.recv().value_or(-1); }); });
        EXPECT_EQ(select(send_case(empty, 5), otherwise()).index(), 0U);
        EXPECT_EQ(empty.len(), 0U) << "handed over, not buffered";
        rt().drain();
        EXPECT_EQ(got, 5);
    }
}

// One of two channels is ready at every instant: first one, then both, then the other. `otherwise`
// would report a state that never existed.
TEST_P(SelectNonblocking, OtherwiseIsNeverChosenIfAChannelIsAlwaysReady) {
    const int rounds = scaled(20000);
    const int wrong = rt().run([rounds] {
        const chan<int> a(1);
        const chan<int> b(1);
        const chan<bool> answers;
        int mistakes = 0;
        for (int i = 0; i < rounds; ++i) {
            a.send(1);
            go([a, b, answers] { answers.send(select(recv_case(a), recv_case(b), otherwise()).index() != 2); });
            b.send(1);
            static_cast<void>(a.try_recv());
            mistakes += answers.recv() != true;
            static_cast<void>(b.try_recv());
        }
        return mistakes;
    });
    EXPECT_EQ(wrong, 0);
}

// The same with a close instead of a value.
TEST_P(SelectNonblocking, IsAtomicWithRespectToAClose) {
    const int rounds = scaled(20000);
    const int wrong = rt().run([rounds] {
        const chan<bool> answers;
        int mistakes = 0;
        for (int i = 0; i < rounds; ++i) {
            const chan<int> a(1);
            const chan<int> b;
            a.send(1);
            go([a, b, answers] { answers.send(select(recv_case(a), recv_case(b), otherwise()).index() != 2); });
            b.close();
            static_cast<void>(a.try_recv());
            mistakes += answers.recv() != true;
        }
        return mistakes;
    });
    EXPECT_EQ(wrong, 0);
}

// The same with two plain threads, which really run in parallel.
TEST_P(SelectNonblocking, IsAtomicBetweenPlainThreads) {
    const int rounds = scaled(20000);
    const chan<int> a(1);
    const chan<int> b(1);
    std::atomic<int> begun = 0;
    std::atomic<int> answered = 0;
    std::atomic<int> mistakes = 0;
    std::thread prober([&] {
        for (int i = 1; i <= rounds; ++i) {
            busily([&] { return begun >= i; });
            mistakes += select(recv_case(a), recv_case(b), otherwise()).index() == 2;
            answered = i;
        }
    });
    for (int i = 1; i <= rounds; ++i) {
        a.send(1);
        begun = i;
        b.send(1);
        static_cast<void>(a.try_recv());
        busily([&] { return answered >= i; });
        static_cast<void>(b.try_recv());
    }
    prober.join();
    EXPECT_EQ(mistakes, 0);
}

// The same for sends: one of two channels has room at every instant.
TEST_P(SelectNonblocking, ASendSucceedsIfAChannelAlwaysHasRoom) {
    const int rounds = scaled(20000);
    const int wrong = rt().run([rounds] {
        const chan<int> a(1);
        const chan<int> b(1);
        const chan<bool> answers;
        int mistakes = 0;
        for (int i = 0; i < rounds; ++i) {
            b.send(1);  // `a` has room
            go([a, b, answers] { answers.send(select(send_case(a, 2), send_case(b, 2), otherwise()).index() != 2); });
            static_cast<void>(b.try_recv());   // Both have room.
            static_cast<void>(a.try_send(1));  // `b` has room
            mistakes += answers.recv() != true;
            static_cast<void>(a.try_recv());
            static_cast<void>(b.try_recv());
        }
        return mistakes;
    });
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft::test
