// focused_test.cc: one mechanism at a time, under the highest load.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "stress/stress_test.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using Focused = stress_test;
WEFT_SWEEP(Focused);

// Senders and receivers come and go, with timeouts close to zero.
TEST_P(Focused, ExpiringWaitsOnAChannelLoseNothing) {
    constexpr int parties = 16;
    const int each = scaled(500);
    repeat([&](prng& random) {
        tally sent(static_cast<std::size_t>(parties * each));
        tally received(sent.size());
        const chan<std::size_t> c(static_cast<std::size_t>(random.below(3)));
        rt().run([&] {
            wait_group senders;
            wait_group receivers;
            std::atomic<bool> over = false;
            for (int p = 0; p < parties; ++p) {
                senders.go([&, p, own = random.split()]() mutable {
                    for (int i = p * each; i < (p + 1) * each; ++i) {
                        const auto number = static_cast<std::size_t>(i);
                        const auto limit = std::chrono::nanoseconds(own.below(20'000));
                        if (c.send_for(std::size_t{number}, limit) == chan_status::ok) sent.mark(number);
                    }
                });
                receivers.go([&, own = random.split()]() mutable {
                    while (!over) {
                        const auto got = c.recv_for(std::chrono::nanoseconds(own.below(20'000)));
                        if (got.status == chan_status::ok) received.mark(got.value.value_or(sent.size()));
                    }
                });
            }
            senders.wait();
            over = true;
            receivers.wait();
            while (const auto left = c.try_recv()) received.mark(left.value.value_or(sent.size()));
        });
        EXPECT_TRUE(received.same_as(sent));
    });
}

// One mutex that green and plain threads hold for very different times.
TEST_P(Focused, OneContendedMutexExcludesAllOthers) {
    const int each = scaled(500);
    repeat([&](prng& random) {
        mutex m;
        long inside = 0;
        const auto use = [&](prng own, bool green) {
            for (int i = 0; i < each; ++i) {
                const std::lock_guard hold(m);
                const long before = inside;
                if (own.one_in(64)) sleep_for(std::chrono::microseconds(own.below(50)));
                if (green && own.one_in(8)) weft::yield();
                inside = before + 1;
            }
        };
        std::vector<std::thread> threads;
        for (int t = 0; t < 2; ++t) threads.emplace_back([&, own = random.split()] { use(own, false); });
        for (int g = 0; g < 8; ++g) rt().go([&, own = random.split()] { use(own, true); });
        for (std::thread& t : threads) t.join();
        rt().drain();
        EXPECT_EQ(inside, 10L * each);
    });
}

// Groups and futures whose memory is overwritten as soon as they have been used.
TEST_P(Focused, GroupsMayBeDestroyedRightAfterUse) {
    const int each = scaled(300);
    repeat([&](prng& random) {
        std::atomic<int> early = 0;
        const auto live = [&](prng own, auto start) {
            alignas(wait_group) std::byte memory[sizeof(wait_group)];
            for (int i = 0; i < each; ++i) {
                const int members = 1 + own.below(3);
                std::atomic<int> finished = 0;
                auto* group = ::new (memory) wait_group;
                group->add(members);
                for (int k = 0; k < members; ++k) {
                    start([group, &finished, wait = own.one_in(4)] {
                        if (wait) weft::yield();
                        ++finished;
                        group->done();
                    });
                }
                group->wait();
                early += finished != members;
                group->~wait_group();
                std::memset(memory, 0x5a, sizeof memory);
            }
        };
        std::thread plain([&, own = random.split()] { live(own, [this](auto f) { rt().go(f); }); });
        for (int g = 0; g < 8; ++g) {
            rt().go([&, own = random.split()] { live(own, [](auto f) { go(f); }); });
        }
        plain.join();
        rt().drain();
        EXPECT_EQ(early, 0);
    });
}

// Waves of green threads that are started from everywhere. Most end at once.
TEST_P(Focused, WavesOfShortGreenThreadsAllEnd) {
    repeat([&](prng& random) {
        std::atomic<long> ended = 0;
        long expected = 0;
        for (int wave = 0; wave < 20; ++wave) {
            const int parents = 1 + random.below(30);
            const int children = random.below(scaled(400));
            expected += parents * (1L + children);
            for (int p = 0; p < parents; ++p) {
                rt().go([&ended, children, own = random.split()]() mutable {
                    for (int c = 0; c < children; ++c) {
                        go([&ended, park = own.one_in(16), rest = own.one_in(64)] {
                            if (park) weft::yield();
                            if (rest) sleep_for(std::chrono::microseconds(20));
                            ++ended;
                        });
                    }
                    ++ended;
                });
            }
            if (random.one_in(2)) rt().drain();
        }
        rt().drain();
        EXPECT_EQ(ended, expected);
    });
}

// Bursts with silence between them: threads go to sleep and are woken at that very moment, again
// and again. A thread that misses a wake-up hangs the test.
TEST_P(Focused, NoWakeUpIsLostWhileGoingIdle) {
    repeat([&](prng& random) {
        const chan<int> there;
        const chan<int> back;
        std::atomic<int> wrong = 0;
        rt().go([&] {
            for (const int v : there) back.send(v);
        });
        for (int i = 0; i < 50; ++i) {
            const auto silence = std::chrono::microseconds(random.below(300));
            if (random.one_in(2)) {
                std::this_thread::sleep_for(silence);
            } else {
                rt().run([silence] { sleep_for(silence); });
            }
            if (random.one_in(2)) {
                there.send(i);
                wrong += back.recv() != i;
            } else {
                rt().run([&, burst = random.below(40)] {
                    wait_group all;
                    for (int k = 0; k < burst; ++k) all.go([] {});
                    all.wait();
                });
            }
        }
        there.close();
        rt().drain();
        EXPECT_EQ(wrong, 0);
    });
}

}  // namespace
}  // namespace weft::test
