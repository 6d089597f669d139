// random_mix_test.cc: all operations at once, at random, with every message accounted for.

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "stress/actor.h"
#include "stress/stress_test.h"

namespace weft::test {
namespace {

using RandomMix = stress_test;
WEFT_SWEEP(RandomMix);

// One round: a world, its actors, some of them plain threads, and for each channel receivers that
// keep it moving until all actors are finished.
struct round_of_actors {
    static constexpr int plain_actors = 2;

    const int green_actors = scaled(200);
    const std::size_t messages_each = 30;
    world shared{static_cast<std::size_t>(green_actors + plain_actors) * messages_each};

    void run(runtime& rt, prng& random) {
        wait_group receivers;
        wait_group actors;
        receivers.add(static_cast<int>(2 * world::channels));
        actors.add(green_actors);
        for (const chan<std::size_t>& c : shared.mail) {
            for (int i = 0; i < 2; ++i) {
                rt.go([&] {
                    for (const std::size_t message : c) shared.received.mark(message);
                    receivers.done();
                });
            }
        }
        std::size_t first = 0;
        const auto next_actor = [&] {
            actor a(shared, random.split(), first, messages_each);
            first += messages_each;
            return a;
        };
        std::vector<std::thread> threads;
        for (int i = 0; i < plain_actors; ++i) threads.emplace_back([a = next_actor()]() mutable { a.live(); });
        for (int i = 0; i < green_actors; ++i) {
            rt.go([&actors, a = next_actor()]() mutable {
                a.live();
                actors.done();
            });
        }
        for (std::thread& t : threads) t.join();
        actors.wait();
        for (const chan<std::size_t>& c : shared.mail) c.close();
        receivers.wait();
    }

    void check() {
        EXPECT_TRUE(shared.received.same_as(shared.sent));
        EXPECT_EQ(shared.mistakes, 0);
        for (guarded& room : shared.rooms) EXPECT_EQ(room.inside, room.entered);
    }
};

TEST_P(RandomMix, EveryMessageIsAccountedFor) {
    repeat([this](prng& random) {
        round_of_actors round;
        round.run(rt(), random);
        round.check();
    });
}

// Runtimes are stopped while green threads are active everywhere, and started again. Each green
// thread has either finished or was abandoned, and what it waited on still works.
TEST_P(RandomMix, StopUnderLoadLosesNoGreenThread) {
    repeat([this](prng& random) {
        const chan<int> unbuffered;
        const chan<int> buffered(8);
        mutex m;
        std::atomic<uint64_t> finished = 0;
        const int n = scaled(100);
        for (int i = 0; i < n; ++i) {
            rt().go([&, own = random.split()]() mutable {
                for (int act = 0; act < 20; ++act) {
                    switch (own.below(7)) {
                        case 0:
                            (void)unbuffered.send_for(1, std::chrono::microseconds(own.below(500)));
                            break;
                        case 1:
                            (void)unbuffered.recv_for(std::chrono::microseconds(own.below(500)));
                            break;
                        case 2:
                            (void)buffered.send_for(1, std::chrono::milliseconds(own.below(3)));
                            break;
                        case 3:
                            (void)buffered.recv_for(std::chrono::milliseconds(own.below(3)));
                            break;
                        case 4:
                            sleep_for(std::chrono::microseconds(own.below(200)));
                            break;
                        case 5:
                            (void)(m.try_lock() ? m.unlock() : checkpoint());
                            break;
                        default:
                            weft::yield();
                            break;
                    }
                }
                ++finished;
            });
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(3000)));
        const std::size_t abandoned = rt().abandon();
        EXPECT_EQ(finished + abandoned, static_cast<uint64_t>(n));
        EXPECT_EQ(unbuffered.try_send(1), chan_status::would_block);
        EXPECT_EQ(unbuffered.try_recv().status, chan_status::would_block);
        while (buffered.try_recv()) {}
        EXPECT_EQ(buffered.try_send(1), chan_status::ok);
        rt().start();
    });
}

}  // namespace
}  // namespace weft::test
