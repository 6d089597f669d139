// chan_types_test.cc: which types a channel can carry, how handles behave, and what directional
// views forbid.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using ChanTypes = procs_test;
WEFT_SWEEP(ChanTypes);

struct nothing_at_all {};

template <std::size_t Align>
struct alignas(Align) aligned_value {
    explicit aligned_value(int v) noexcept : value(v) {}

    [[nodiscard]] bool well_placed() const { return reinterpret_cast<std::uintptr_t>(this) % Align == 0; }

    int value;
};

// Records, through all copies, whether it was ever constructed at a wrong address.
struct alignas(64) placement_witness {
    placement_witness() noexcept { look(); }

    placement_witness(placement_witness&& other) noexcept : misplaced(other.misplaced) { look(); }

    placement_witness& operator=(placement_witness&&) noexcept = default;

    void look() noexcept { misplaced = misplaced || reinterpret_cast<std::uintptr_t>(this) % 64 != 0; }

    bool misplaced = false;
};

struct no_default {
    no_default() = delete;

    explicit no_default(int v) noexcept : value(v) {}

    int value;
};

struct big {
    std::uint32_t words[1024];

    static big of(std::uint32_t seed) {
        big b;
        for (std::uint32_t& w : b.words) w = seed++;
        return b;
    }

    [[nodiscard]] bool is(std::uint32_t seed) const {
        for (const std::uint32_t w : words) {
            if (w != seed++) return false;
        }
        return true;
    }
};

// The directions, checked at compile time.
template <typename C, typename T>
concept can_send = requires(const C& c, T v) { c.send(std::move(v)); };
template <typename C, typename T>
concept can_try_send = requires(const C& c, T v) { c.try_send(std::move(v)); };
template <typename C>
concept can_receive = requires(const C& c) { c.recv(); };
template <typename C>
concept can_try_receive = requires(const C& c) { c.try_recv(); };
template <typename C>
concept can_close = requires(const C& c) { c.close(); };
template <typename C>
concept can_be_looped_over = requires(const C& c) { c.begin() == c.end(); };
template <typename C, typename T>
concept can_send_a_copy = requires(const C& c, const T& v) { c.send(v); };

static_assert(can_send<chan<int>, int> && can_try_send<chan<int>, int> && can_receive<chan<int>>);
static_assert(can_try_receive<chan<int>> && can_close<chan<int>> && can_be_looped_over<chan<int>>);
static_assert(can_send<send_chan<int>, int> && can_try_send<send_chan<int>, int> && can_close<send_chan<int>>);
static_assert(!can_receive<send_chan<int>> && !can_try_receive<send_chan<int>> && !can_be_looped_over<send_chan<int>>);
static_assert(can_receive<recv_chan<int>> && can_try_receive<recv_chan<int>> && can_be_looped_over<recv_chan<int>>);
static_assert(!can_send<recv_chan<int>, int> && !can_try_send<recv_chan<int>, int> && !can_close<recv_chan<int>>);

static_assert(std::is_convertible_v<chan<int>, send_chan<int>> && std::is_convertible_v<chan<int>, recv_chan<int>>);
static_assert(!std::is_constructible_v<chan<int>, send_chan<int>> &&
              !std::is_constructible_v<chan<int>, recv_chan<int>>);
static_assert(!std::is_constructible_v<recv_chan<int>, send_chan<int>>);
static_assert(!std::is_constructible_v<send_chan<int>, recv_chan<int>>);
static_assert(!std::is_convertible_v<chan<int>, recv_chan<long>>);

static_assert(can_send_a_copy<chan<std::string>, std::string> && !can_send_a_copy<chan<tracked>, tracked>);
static_assert(can_send<chan<tracked>, tracked> && !can_send_a_copy<send_chan<tracked>, tracked>);
static_assert(std::is_nothrow_copy_constructible_v<chan<tracked>> &&
              std::is_nothrow_move_constructible_v<chan<tracked>>);
static_assert(!std::is_convertible_v<std::size_t, chan<int>>, "a number is not a channel");

TEST_P(ChanTypes, AnEmptyTypeBehavesLikeAnyOther) {
    for (const std::size_t cap : {0U, 1U, 7U}) {
        const int received = rt().run([cap] {
            const chan<nothing_at_all> c(cap);
            go([c] {
                for (int i = 0; i < 100; ++i) c.send(nothing_at_all{});
                c.close();
            });
            int n = 0;
            while (c.recv().has_value()) ++n;
            return n;
        });
        EXPECT_EQ(received, 100) << "capacity " << cap;
    }
}

TEST_P(ChanTypes, OverAlignedValuesStayAligned) {
    const int misplaced = rt().run([] {
        int wrong = 0;
        for (const std::size_t cap : {0U, 1U, 3U}) {
            const chan<placement_witness> c(cap);
            go([c] {
                for (int i = 0; i < 50; ++i) c.send(placement_witness());
                c.close();
            });
            for (placement_witness&& w : c) wrong += w.misplaced;

            const chan<aligned_value<4096>> pages(cap);
            go([pages] { pages.send(aligned_value<4096>(42)); });
            const auto page = pages.recv();
            wrong += !page->well_placed() || page->value != 42;
        }
        return wrong;
    });
    EXPECT_EQ(misplaced, 0);
}

TEST_P(ChanTypes, MoveOnlyValuesCanBeSent) {
    const int sum = rt().run([] {
        const chan<std::unique_ptr<int>> c(2);
        go([c] {
            for (int i = 1; i <= 10; ++i) c.send(std::make_unique<int>(i));
            c.close();
        });
        int total = 0;
        for (std::unique_ptr<int> v : c) total += *v;
        return total;
    });
    EXPECT_EQ(sum, 55);
}

TEST_P(ChanTypes, ValuesNeedNoDefaultConstructor) {
    rt().run([] {
        const chan<no_default> c(1);
        EXPECT_EQ(c.try_recv().status, chan_status::would_block);
        c.send(no_default(3));
        EXPECT_EQ(c.recv()->value, 3);
    });
}

TEST_P(ChanTypes, LargeValuesArriveWhole) {
    const int torn = rt().run([] {
        std::atomic<int> wrong = 0;
        for (const std::size_t cap : {0U, 1U, 3U}) {
            const chan<big> c(cap);
            wait_group all;
            for (std::uint32_t s = 0; s < 4; ++s) {
                all.go([c, s] {
                    for (std::uint32_t i = 0; i < 25; ++i) c.send(big::of(s * 1000 + i));
                });
                all.go([c, &wrong] {
                    for (int i = 0; i < 25; ++i) {
                        const auto b = c.recv();
                        wrong += !b->is(b->words[0]);
                    }
                });
            }
            all.wait();
        }
        return wrong.load();
    });
    EXPECT_EQ(torn, 0);
}

TEST_P(ChanTypes, EveryValueIsDestroyedOnce) {
    const long before = tracked::alive();
    rt().run([] {
        for (const std::size_t cap : {0U, 1U, 5U}) {
            const chan<tracked> c(cap);
            wait_group all;
            for (int i = 0; i < 50; ++i) {
                all.go([c, i] { c.send(tracked(i)); });
                all.go([c] { (void)c.recv(); });
            }
            all.wait();
        }
    });
    rt().drain();
    EXPECT_EQ(tracked::alive(), before);
}

TEST_P(ChanTypes, TheLastHandleDestroysBufferedValues) {
    const long before = tracked::alive();
    rt().run([before] {
        chan<tracked> c(5);
        c.send(tracked(0));
        (void)c.recv();  // the ring does not start at its first slot
        for (int i = 0; i < 5; ++i) c.send(tracked(i));
        {
            const recv_chan<tracked> other = c;
            c = chan<tracked>::nil();
            EXPECT_EQ(tracked::alive(), before + 5);  // dropping one handle or view does not end it
        }
        EXPECT_EQ(tracked::alive(), before);
    });
}

TEST_P(ChanTypes, DroppingAViewDoesNotClose) {
    const chan<int> c(1);
    { const send_chan<int> in = c; }
    { const recv_chan<int> out = c; }
    EXPECT_FALSE(c.closed());
    EXPECT_EQ(c.try_send(1), chan_status::ok);
}

TEST_P(ChanTypes, HandlesAreEqualWhenTheChannelIsTheSame) {
    const chan<int> a;
    const chan<int> b;
    const chan<int> copy = a;
    EXPECT_TRUE(a == copy);
    EXPECT_FALSE(a == b);
    EXPECT_TRUE(chan<int>::nil() == chan<int>::nil());
    EXPECT_FALSE(a == chan<int>::nil());
    chan<int> moved_to = copy;
    moved_to = b;
    EXPECT_TRUE(moved_to == b);
}

TEST_P(ChanTypes, ViewsReachTheSameChannel) {
    const int got = rt().run([] {
        const chan<int> c(3);
        const send_chan<int> in = c;
        const recv_chan<int> out = c;
        in.send(1);
        EXPECT_EQ(in.try_send(2), chan_status::ok);
        EXPECT_EQ(in.send_for(3, std::chrono::hours(1)), chan_status::ok);
        EXPECT_EQ(in.send_until(4, std::chrono::steady_clock::now()), chan_status::timed_out);
        EXPECT_EQ(out.len(), 3U);
        EXPECT_EQ(in.cap(), 3U);
        in.close();
        int digits = 0;
        for (const int v : out) digits = 10 * digits + v;
        return digits;
    });
    EXPECT_EQ(got, 123);
}

TEST_P(ChanTypes, ChannelsCanBeSentThroughChannels) {
    const int answer = rt().run([] {
        const chan<chan<int>> requests;
        go([requests] {
            for (const chan<int>& reply : requests) reply.send(42);
        });
        const chan<int> reply;
        requests.send(reply);
        const int got = reply.recv().value_or(0);
        requests.close();
        return got;
    });
    EXPECT_EQ(answer, 42);
}

TEST_P(ChanTypes, ACapacityBeyondMemoryThrows) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    EXPECT_THROW((void)chan<big>{most}, std::bad_alloc);
    EXPECT_THROW((void)chan<big>{most / sizeof(big)}, std::bad_alloc);
}

// ---- handles as keys

// A handle and its views compare like the channels they refer to.
template <typename A, typename B>
void expect_same(const A& a, const B& b, bool same) {
    EXPECT_EQ(a == b, same);
    EXPECT_EQ(b == a, same);
    EXPECT_EQ(a != b, !same);
    EXPECT_EQ((a <=> b) == 0, same);
    EXPECT_EQ(a<b, b> a);
    EXPECT_EQ((a < b) + (b < a), same ? 0 : 1);
    if (same) {
        EXPECT_EQ(std::hash<A>()(a), std::hash<B>()(b));
    }
}

TEST_P(ChanTypes, HandlesOfAllDirectionsCompareByChannel) {
    rt().run([] {
        const chan<std::unique_ptr<int>> a;
        const chan<std::unique_ptr<int>> same = a;
        const chan<std::unique_ptr<int>> other(3);
        const chan<std::unique_ptr<int>> nil = chan<std::unique_ptr<int>>::nil();
        const auto compare = [&a](const chan<std::unique_ptr<int>>& b, bool is_same) {
            const send_chan<std::unique_ptr<int>> b_send = b;
            const recv_chan<std::unique_ptr<int>> b_recv = b;
            const send_chan<std::unique_ptr<int>> a_send = a;
            const recv_chan<std::unique_ptr<int>> a_recv = a;
            expect_same(a, b, is_same);
            expect_same(a, b_send, is_same);
            expect_same(a, b_recv, is_same);
            expect_same(a_send, b, is_same);
            expect_same(a_send, b_send, is_same);
            expect_same(a_send, b_recv, is_same);
            expect_same(a_recv, b, is_same);
            expect_same(a_recv, b_send, is_same);
            expect_same(a_recv, b_recv, is_same);
        };
        compare(same, true);
        compare(other, false);
        compare(nil, false);
        expect_same(nil, chan<std::unique_ptr<int>>::nil(), true);
    });
}

TEST_P(ChanTypes, HandlesAreKeysOfMapsAndSets) {
    rt().run([] {
        std::vector<chan<int>> all;
        for (int i = 0; i < 100; ++i) all.emplace_back(static_cast<std::size_t>(i % 3));
        std::unordered_map<chan<int>, int> by_hash;
        std::map<recv_chan<int>, int, std::less<>> by_order;
        std::unordered_set<send_chan<int>> senders;
        for (int round = 0; round < 2; ++round) {
            for (int i = 0; i < 100; ++i) {
                const chan<int>& c = all[static_cast<std::size_t>(i)];
                by_hash[c] = i;
                by_order[c] = i;
                senders.insert(c);
            }
        }
        EXPECT_EQ(by_hash.size(), 100U);
        EXPECT_EQ(by_order.size(), 100U);
        EXPECT_EQ(senders.size(), 100U);
        for (int i = 0; i < 100; ++i) {
            const chan<int>& c = all[static_cast<std::size_t>(i)];
            EXPECT_EQ(by_hash.at(c), i);
            EXPECT_EQ(by_order.find(send_chan<int>(c))->second, i) << "a view finds what another one has left";
            EXPECT_TRUE(senders.contains(c));
        }
        EXPECT_FALSE(by_hash.contains(chan<int>()));
        const std::set<chan<int>> with_nil{chan<int>::nil(), all[0], chan<int>::nil()};
        EXPECT_EQ(with_nil.size(), 2U);
    });
}

}  // namespace
}  // namespace weft::test
