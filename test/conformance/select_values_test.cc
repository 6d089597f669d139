// select_values_test.cc: what happens to the values and functions of the cases that win and of
// those that lose.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using SelectValues = procs_test;
WEFT_SWEEP(SelectValues);

using box = std::unique_ptr<int>;

const chan<int> some_ints;
const chan<box> some_boxes;
static_assert(std::is_same_v<
              decltype(select(recv_case(some_ints), send_case(some_ints, 1), recv_case(some_boxes), timeout_case(1s))),
              std::variant<std::optional<int>, std::monostate, std::optional<box>, std::monostate>>);
static_assert(std::is_same_v<decltype(select(on_recv(some_ints, [](auto) {}))), std::size_t>);
static_assert(std::is_same_v<decltype(select()), std::size_t>);

// Counts its copies and moves.
struct witness {
    static inline std::atomic<int> copies{0};
    static inline std::atomic<int> moves{0};

    witness() = default;

    witness(const witness&) { ++copies; }

    witness(witness&&) noexcept { ++moves; }

    witness& operator=(const witness&) = default;
    witness& operator=(witness&&) noexcept = default;
    ~witness() = default;
};

TEST_P(SelectValues, ALosingSendKeepsItsValue) {
    rt().run([] {
        const chan<box> full(1);
        full.send(nullptr);
        const chan<box> open(1);
        box loser = std::make_unique<int>(1);
        box winner = std::make_unique<int>(2);
        EXPECT_EQ(select(send_case(full, std::move(loser)), send_case(open, std::move(winner))).index(), 1U);
        ASSERT_NE(loser, nullptr);
        EXPECT_EQ(*loser, 1);
        EXPECT_EQ(winner, nullptr);
        EXPECT_EQ(**open.recv(), 2);

        EXPECT_EQ(select(on_send(full, std::move(loser), [] {}), otherwise([] {})), 1U);
        EXPECT_EQ(select(on_send(full, std::move(loser), [] {}), on_timeout(1ms, [] {})), 1U);
        EXPECT_EQ(select(on_send(chan<box>::nil(), std::move(loser), [] {}), on_timeout(1ms, [] {})), 1U);
        ASSERT_NE(loser, nullptr);

        full.close();
        EXPECT_THROW(select(on_send(full, std::move(loser), [] {})), channel_closed);
        ASSERT_NE(loser, nullptr);
        EXPECT_EQ(*loser, 1);
    });
}

// The same after a wait that ends by another channel, a close, or a cancellation.
TEST_P(SelectValues, AWaitingSendThatLosesKeepsItsValue) {
    for (const int end : {0, 1, 2}) {
        const chan<box> full;
        const chan<int> other;
        std::atomic<bool> kept = false;
        std::optional<future<void>> waiting;
        park(1, [&] {
            waiting = rt().async([&] {
                box value = std::make_unique<int>(3);
                try {
                    select(on_send(full, std::move(value), [] {}), on_recv(other, [](auto) {}));
                } catch (const channel_closed&) {
                } catch (const cancelled&) {}
                kept = value != nullptr && *value == 3;
            });
        });
        if (end == 0) other.send(1);
        if (end == 1) full.close();
        if (end == 2) waiting->cancel();
        waiting->get();
        EXPECT_TRUE(kept);
    }
}

TEST_P(SelectValues, AnLvalueIsCopiedAndStays) {
    rt().run([] {
        const std::string text = "a text that is long enough to be allocated";
        const chan<std::string> c(2);
        EXPECT_EQ(select(send_case(c, text)).index(), 0U);
        EXPECT_EQ(select(on_send(c, text, [] {})), 0U);
        EXPECT_EQ(c.recv(), text);
        EXPECT_EQ(c.recv(), text);
    });
}

TEST_P(SelectValues, AnRvalueIsMovedOnceAndNeverCopied) {
    rt().run([] {
        const chan<witness> c(1);
        witness w;
        witness::copies = 0;
        witness::moves = 0;
        select(on_send(c, std::move(w), [] {}));
        EXPECT_EQ(witness::copies, 0);
        EXPECT_EQ(witness::moves, 1);
    });
}

TEST_P(SelectValues, NoValueIsLostOrDestroyedTwice) {
    const long before = tracked::alive();
    const int rounds = scaled(2000);
    rt().run([rounds] {
        const chan<tracked> a;
        const chan<tracked> b(1);
        const chan<tracked> c(3);
        wait_group all;
        all.go([&] {
            for (int i = 0; i < rounds; ++i) {
                tracked t(i);
                const auto r =
                    select(send_case(a, std::move(t)), send_case(b, std::move(t)), send_case(c, std::move(t)));
                EXPECT_EQ(t.value, tracked::nothing) << r.index();
            }
            for (const auto& x : {a, b, c}) x.close();
        });
        int sum = 0;
        for (int left = rounds; left > 0;) {
            const auto count = [&](std::optional<tracked> t) {
                if (!t) return;
                sum += t->value;
                --left;
            };
            select(on_recv(a, count), on_recv(b, count), on_recv(c, count));
        }
        all.wait();
        EXPECT_EQ(sum, rounds * (rounds - 1) / 2);
    });
    EXPECT_EQ(tracked::alive(), before);
}

// ---- Evaluation.

TEST_P(SelectValues, ChannelsAndValuesAreEvaluatedOnce) {
    rt().run([] {
        for (std::size_t ready = 0; ready < 3; ++ready) {
            std::array<int, 5> evaluated{};
            const chan<int> in(1);
            const chan<int> out(1);
            const chan<int> second(1);
            if (ready == 0) in.send(1);
            if (ready != 1) out.send(0);
            if (ready != 2) second.send(0);
            const auto note = [&](std::size_t which, const chan<int>& c) -> const chan<int>& {
                ++evaluated[which];
                return c;
            };
            const auto value = [&](std::size_t which) {
                ++evaluated[which];
                return static_cast<int>(10 * which);
            };
            EXPECT_EQ(
                select(recv_case(note(0, in)), send_case(note(1, out), value(2)), send_case(note(3, second), value(4)))
                    .index(),
                ready);
            EXPECT_EQ(evaluated, (std::array{1, 1, 1, 1, 1}));
            if (ready == 1) {
                EXPECT_EQ(out.recv(), 20);
            }
            if (ready == 2) {
                EXPECT_EQ(second.recv(), 40);
            }
        }
    });
}

// The received value may own the channel of the case.
TEST_P(SelectValues, AReceivedChannelMayReplaceTheOneItCameFrom) {
    struct link {
        std::shared_ptr<chan<link>> next;
    };

    rt().run([] {
        auto c = std::make_shared<chan<link>>(1);
        auto end = std::make_shared<chan<link>>(1);
        c->send(link{end});
        end->send(link{nullptr});
        int steps = 0;
        while (c != nullptr) {
            const std::shared_ptr<chan<link>> here = c;
            select(on_recv(*here, [&](std::optional<link> l) {
                c = l->next;
                ++steps;
            }));
        }
        EXPECT_EQ(steps, 2);
    });
}

// ---- Functions.

TEST_P(SelectValues, OnlyTheFunctionOfTheChosenCaseIsCalled) {
    rt().run([] {
        const chan<int> c(1);
        int wrong = 0;
        int right = 0;
        c.send(4);
        const std::size_t i =
            select(on_send(c, 1, [&] { ++wrong; }), on_timeout(1h, [&] { ++wrong; }), on_cancel([&] { ++wrong; }),
                   on_recv(c, [&](std::optional<int> v) { right += v.value_or(0); }), otherwise([&] { ++wrong; }));
        EXPECT_EQ(i, 3U);
        EXPECT_EQ(right, 4);
        EXPECT_EQ(wrong, 0);
    });
}

TEST_P(SelectValues, ACaseTakesEffectEvenIfItsFunctionThrows) {
    rt().run([] {
        const chan<int> c(1);
        c.send(1);
        EXPECT_THROW(select(on_recv(c, [](auto) { throw std::out_of_range("frayed"); })), std::out_of_range);
        EXPECT_EQ(c.len(), 0U);
        EXPECT_THROW(select(on_send(c, 2, [] { throw 7; })), int);
        EXPECT_EQ(c.recv(), 2);
        EXPECT_THROW(select(on_timeout(1ms, [] { throw 7; })), int);
        EXPECT_THROW(select(on_recv(c, [](auto) {}), otherwise([] { throw 7; })), int);
    });
}

TEST_P(SelectValues, AFunctionMaySelectOnTheSameChannels) {
    rt().run([] {
        const chan<int> c;
        const int depth = scaled(100);
        go([c, depth] {
            for (int i = 0; i < depth; ++i) c.send(1);
        });
        int received = 0;
        const std::function<void()> again = [&] {
            if (received == depth) return;
            select(on_recv(c,
                           [&](std::optional<int> v) {
                               received += v.value_or(0);
                               again();
                           }),
                   on_timeout(1h, [] {}));
        };
        again();
        EXPECT_EQ(received, depth);
    });
}

TEST_P(SelectValues, AFunctionMayCloseTheChannelAndDropItsHandle) {
    rt().run([] {
        auto c = std::make_unique<chan<int>>(1);
        c->send(1);
        EXPECT_EQ(select_first(on_recv(*c,
                                       [&](auto) {
                                           c->close();
                                           c.reset();
                                       }),
                               on_recv(*c, [](auto) {})),
                  0U);
        EXPECT_EQ(c, nullptr);
    });
}

TEST_P(SelectValues, FunctionsMayBeMoveOnlyAndLarge) {
    rt().run([] {
        const chan<int> c(1);
        int result = 0;
        select(on_send(
            c, 1, [b = std::make_unique<int>(5), big = std::array<char, 4096>{}, &result] { result = *b + big[0]; }));
        EXPECT_EQ(result, 5);
    });
}

TEST_P(SelectValues, ViewsSelectLikeTheirChannels) {
    rt().run([] {
        const chan<int> c(1);
        const send_chan<int> in = c;
        const recv_chan<int> out = c;
        const int lvalue = 8;
        EXPECT_EQ(select(on_recv(out, [](auto) {}), on_send(in, 7, [] {})), 1U);
        EXPECT_EQ(select(on_recv(out, [](auto v) { EXPECT_EQ(v, 7); }), on_send(in, 7, [] {})), 0U);
        EXPECT_EQ(select(recv_case(out), send_case(in, lvalue)).index(), 1U);
        EXPECT_EQ(std::get<0>(select(recv_case(out), send_case(in, 9))), 8);
        EXPECT_EQ(select(send_case(send_chan<int>(chan<int>::nil()), 1), recv_case(recv_chan<int>(chan<int>::nil())),
                         otherwise())
                      .index(),
                  2U);
    });
}

TEST_P(SelectValues, TemporaryHandlesLiveAsLongAsTheCall) {
    rt().run([] {
        const auto feed = [] {
            const chan<int> c;
            go([c] {
                sleep_for(100us);
                c.send(3);
            });
            return recv_chan<int>(c);
        };
        EXPECT_EQ(std::get<0>(select(recv_case(feed()), timeout_case(1h))), 3);
    });
}

TEST_P(SelectValues, CasesMayHaveDifferentTypes) {
    const int each = scaled(1000);
    rt().run([each] {
        const chan<int> ints;
        const chan<std::string> texts;
        const chan<box> boxes;
        const chan<std::monostate> nothing;
        for (int g = 0; g < 2; ++g) {
            go([=] {
                for (int i = 0; i < each; ++i) {
                    static_cast<void>(select(send_case(ints, 1), send_case(texts, std::string(100, 'x')),
                                             send_case(boxes, std::make_unique<int>(1)), send_case(nothing, {})));
                }
            });
        }
        long total = 0;
        for (int i = 0; i < 2 * each; ++i) {
            select(on_recv(nothing, [&](auto v) { total += v.has_value(); }),
                   on_recv(boxes, [&](auto v) { total += **v; }),
                   on_recv(texts, [&](auto v) { total += *v == std::string(100, 'x'); }),
                   on_recv(ints, [&](auto v) { total += *v; }));
        }
        EXPECT_EQ(total, 2L * each);
    });
}

}  // namespace
}  // namespace weft::test
