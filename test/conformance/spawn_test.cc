// spawn_test.cc: what can be started as a green thread, and the state it starts with.

#include <array>
#include <atomic>
#include <cfenv>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using Spawn = procs_test;
WEFT_SWEEP(Spawn);

std::atomic<int> function_calls = 0;

void plain_function() { ++function_calls; }

// A closure of Size bytes, aligned to Align, that checks itself.
template <std::size_t Size, std::size_t Align>
struct alignas(Align) closure_of {
    std::array<unsigned char, Size - sizeof(void*)> bytes;
    std::atomic<int>* good;

    explicit closure_of(std::atomic<int>& counter) noexcept : good(&counter) {
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7);
    }

    void operator()() const {
        bool same = reinterpret_cast<std::uintptr_t>(this) % Align == 0;
        for (std::size_t i = 0; i < bytes.size(); ++i) same = same && bytes[i] == static_cast<unsigned char>(i * 7);
        *good += same;
    }
};

TEST_P(Spawn, ClosuresMayHaveAnySizeAndAlignment) {
    std::atomic<int> good = 0;
    rt().go(closure_of<16, 8>(good));
    rt().go(closure_of<56, 8>(good));
    rt().go(closure_of<64, 8>(good));
    rt().go(closure_of<72, 8>(good));
    rt().go(closure_of<64, 64>(good));
    rt().go(closure_of<256, 256>(good));
    rt().go(closure_of<4096, 16>(good));
    rt().go(closure_of<100'000, 4096>(good));
    rt().drain();
    EXPECT_EQ(good, 8);
}

TEST_P(Spawn, FunctionsLambdasAndLvaluesCanBeStarted) {
    function_calls = 0;
    std::atomic<int> calls = 0;
    rt().go(plain_function);
    rt().go(&plain_function);
    const std::function<void()> held = [&] { ++calls; };
    rt().go(held);  // a copy
    rt().go([&calls, n = 0]() mutable { calls += ++n; });
    rt().go([&calls, owned = std::make_unique<int>(1)] { calls += *owned; });
    rt().drain();
    EXPECT_EQ(function_calls, 2);
    EXPECT_EQ(calls, 3);
}

TEST_P(Spawn, TheClosureIsDestroyedOnceWhenTheGreenThreadEnds) {
    const long before = tracked::alive();
    const int n = scaled(1000);
    for (int i = 0; i < n; ++i) {
        rt().go([t = tracked(i)] {});
        rt().go([t = tracked(i), large = std::array<char, 500>{}] {
            if (large[0] == 0) weft::yield();
        });
    }
    rt().drain();
    EXPECT_EQ(tracked::alive(), before);
}

struct throws_when_copied {
    throws_when_copied() = default;

    throws_when_copied(const throws_when_copied&) { throw std::runtime_error("no copy today"); }

    void operator()() const { ADD_FAILURE() << "started"; }

    tracked held{0};
};

TEST_P(Spawn, AClosureThatCannotBeCopiedStartsNothing) {
    const long before = tracked::alive();
    {
        const throws_when_copied f;
        for (int i = 0; i < 100; ++i) EXPECT_THROW(rt().go(f), std::runtime_error);
    }
    EXPECT_EQ(tracked::alive(), before);
    EXPECT_EQ(rt().stats().live, 0U);
    int ran = 0;
    rt().run([&] { ran = 1; });
    EXPECT_EQ(ran, 1);
}

TEST_P(Spawn, MoreGreenThreadsThanARunQueueHoldsAllRun) {
    const int n = scaled(100'000);
    std::atomic<int> ran = 0;
    rt().run([&] {
        for (int i = 0; i < n; ++i) go([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
    });
    rt().drain();
    EXPECT_EQ(ran, n);
}

int tree(int depth, int fan_out) {
    if (depth == 0) return 1;
    std::atomic<int> leaves = 0;
    wait_group children;
    for (int i = 0; i < fan_out; ++i) {
        children.go([&] { leaves += tree(depth - 1, fan_out); });
    }
    children.wait();
    return leaves;
}

TEST_P(Spawn, GreenThreadsStartGreenThreads) {
    EXPECT_EQ(rt().run([] { return tree(5, scale() > 1 ? 4 : 7); }), scale() > 1 ? 1024 : 16807);
}

TEST_P(Spawn, ManyPlainThreadsStartGreenThreadsAtOnce) {
    const int each = scaled(2000);
    std::atomic<int> ran = 0;
    std::vector<std::thread> starters;
    for (int t = 0; t < 4; ++t) {
        starters.emplace_back([&] {
            for (int i = 0; i < each; ++i) rt().go([&ran] { ++ran; });
        });
    }
    for (std::thread& t : starters) t.join();
    rt().drain();
    EXPECT_EQ(ran, 4 * each);
}

TEST_P(Spawn, IdsAreUniqueAndAboveZero) {
    const std::size_t n = static_cast<std::size_t>(scaled(1000));
    std::vector<uint64_t> ids(n);
    for (uint64_t& id : ids) rt().go([&id] { id = this_g::id(); });
    rt().drain();
    const std::set<uint64_t> different(ids.begin(), ids.end());
    EXPECT_EQ(different.size(), n);
    EXPECT_EQ(different.count(0), 0U);
}

TEST_P(Spawn, TheIdStaysTheSameWhileItRuns) {
    const int changed = rt().run([] {
        std::atomic<int> changes = 0;
        wait_group all;
        for (int i = 0; i < 50; ++i) {
            all.go([&changes] {
                const uint64_t id = this_g::id();
                for (int round = 0; round < 50; ++round) {
                    weft::yield();
                    changes += this_g::id() != id;
                }
            });
        }
        all.wait();
        return changes.load();
    });
    EXPECT_EQ(changed, 0);
}

TEST_P(Spawn, APlainThreadHasNoIdAndNoName) {
    EXPECT_EQ(this_g::id(), 0U);
    EXPECT_EQ(this_g::name(), "");
    checkpoint();  // allowed anywhere
}

TEST_P(Spawn, NamesAreCopiedAndCutAt31Bytes) {
    std::string first;
    std::string second;
    std::string none = "?";
    {
        std::string name = "acceptor";
        rt().go({.name = name}, [&] {
            weft::yield();
            first = this_g::name();
        });
        name = "overwritten";
    }
    rt().go({.name = "0123456789012345678901234567890123456789"}, [&] { second = this_g::name(); });
    rt().go([&] { none = this_g::name(); });
    rt().drain();
    EXPECT_EQ(first, "acceptor");
    EXPECT_EQ(second, "0123456789012345678901234567890");
    EXPECT_EQ(none, "");
}

// Touches every page of about `bytes` of stack, and yields at the deepest point.
WEFT_TEST_OPAQUE int descend(std::size_t bytes) {
    volatile char frame[4000];
    frame[0] = 1;
    if (bytes < sizeof frame) {
        weft::yield();
        return frame[0];
    }
    return descend(bytes - sizeof frame) + frame[0];
}

TEST_P(Spawn, StacksHaveTheRequestedSize) {
    // A sanitizer's frames are larger than the source suggests.
    constexpr std::size_t share = built_with_sanitizer ? 4 : 1;
    std::atomic<int> done = 0;
    for (int i = 0; i < 20; ++i) {
        rt().go([&] { done += descend(200'000 / share) > 0; });
        rt().go({.stack_size = 1 << 20}, [&] { done += descend(1'000'000 / share) > 0; });
        rt().go({.stack_size = 32 << 10}, [&] { done += descend(20'000 / share) > 0; });
    }
    rt().drain();
    EXPECT_EQ(done, 60);
}

TEST_P(Spawn, AFrameOfManyPagesSurvivesYields) {
    const int torn = rt().run([] {
        std::atomic<int> wrong = 0;
        wait_group all;
        for (int i = 0; i < 20; ++i) {
            all.go([&wrong, i] {
                volatile unsigned char frame[100'000];
                for (std::size_t k = 0; k < sizeof frame; k += 64) frame[k] = static_cast<unsigned char>(i + 1);
                weft::yield();
                for (std::size_t k = 0; k < sizeof frame; k += 64) wrong += frame[k] != i + 1;
            });
        }
        all.wait();
        return wrong.load();
    });
    EXPECT_EQ(torn, 0);
}

// However many green threads have come and gone, no more stacks are mapped than were in use at
// once.
TEST_P(Spawn, StacksOfEndedGreenThreadsAreReused) {
    const auto wave = [this] {
        rt().run([] {
            wait_group all;
            for (int i = 0; i < 100; ++i) all.go([] { weft::yield(); });
            all.wait();
        });
        rt().drain();
    };
    for (int i = 0; i < 5; ++i) wave();
    const uint64_t mapped = rt().stats().stacks_mapped;
    const int waves = scaled(200);
    for (int i = 0; i < waves; ++i) wave();
    EXPECT_LE(rt().stats().stacks_mapped, 2 * mapped);
}

// Many green threads use their stacks to different depths at once, end, and leave the stacks to
// later ones. No frame ever contains data of another one.
TEST_P(Spawn, ReusedStacksAreNeverShared) {
    const int rounds = scaled(20);
    std::atomic<int> wrong = 0;
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < 100; ++i) {
            rt().go([&wrong, i] {
                volatile int mine[500];
                for (volatile int& word : mine) word = i;
                (void)descend(static_cast<std::size_t>(i % 10) * 8000 / (built_with_sanitizer ? 4 : 1));
                for (const volatile int& word : mine) wrong += word != i;
            });
        }
        rt().drain();
    }
    EXPECT_EQ(wrong, 0);
}

WEFT_TEST_OPAQUE double a_third() {
    const volatile double one = 1.0;
    const volatile double three = 3.0;
    return one / three;
}

TEST_P(Spawn, ARoundingModeTravelsWithTheGreenThreadThatOwnsIt) {
    const double nearest = a_third();
    std::atomic<int> wrong = 0;
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < 20; ++i) {
            all.go({.own_fp_control = true}, [&] {
                std::fesetround(FE_UPWARD);
                for (int round = 0; round < 100; ++round) {
                    wrong += std::fegetround() != FE_UPWARD || a_third() <= nearest;
                    weft::yield();
                }
            });
            all.go([&] {
                for (int round = 0; round < 100; ++round) {
                    wrong += std::fegetround() != FE_TONEAREST || a_third() != nearest;
                    weft::yield();
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(wrong, 0);
}

TEST_P(Spawn, ARoundingModeEndsWithTheGreenThreadThatOwnsIt) {
    const double nearest = a_third();
    std::atomic<int> wrong = 0;
    rt().run([&] {
        for (int round = 0; round < 50; ++round) {
            wait_group all;
            for (int i = 0; i < 4; ++i) {
                all.go([&] { wrong += std::fegetround() != FE_TONEAREST || a_third() != nearest; });
                all.go({.own_fp_control = true}, [&wrong] {
                    wrong += std::fegetround() != FE_TONEAREST;  // as every green thread starts
                    std::fesetround(FE_UPWARD);
                });
            }
            all.wait();
            wrong += std::fegetround() != FE_TONEAREST;
        }
    });
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft::test
