// retake_storm_test.cc: everything at once, while Ps are retaken all the time; then the counts are
// checked.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include <weft/blocking.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/retaken.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

class RetakeStorm : public short_slice_test {
protected:
    RetakeStorm() : short_slice_test(60s) {}

    // Number of retakes so far.
    [[nodiscard]] uint64_t retakes() {
        const stats_snapshot s = rt().stats();
        return s.retakes_blocked + s.retakes_burning + s.retakes_in_call;
    }
};

WEFT_SWEEP_OVER(RetakeStorm, 1U, 2U, 4U);

// Keeps the thread from its P for a while, in one way or another. Mostly does nothing.
void outstay(unsigned roll) {
    switch (roll % 24) {
        case 0:
            compute_for(2ms);
            break;
        case 1:
            ::usleep(700);
            break;
        case 2:
            blocking([] { ::usleep(200); });
            break;
        case 3:
            blocking(hand_off::at_once, [] { compute_for(100us); });
            break;
        case 4:
            compute_for(300us);
            break;
        case 5:
            weft::yield();
            break;
        case 6:
            sleep_for(20us);
            break;
        default:
            break;
    }
}

// A cheap generator for each green thread, so that they share none.
class dice {
public:
    explicit dice(unsigned seed) : state_(seed * 2'654'435'761U + 1) {}

    unsigned roll() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 17;
        state_ ^= state_ << 5;
        return state_;
    }

private:
    unsigned state_;
};

TEST_P(RetakeStorm, EveryMessageArrivesExactlyOnce) {
    constexpr unsigned senders = 8;
    constexpr unsigned receivers = 6;
    const auto each = static_cast<unsigned>(scaled(60));
    auto busy = std::make_unique<crowd>(rt());  // so that a G always waits for a P
    const auto patience_ends = steady::now() + 20s;
    for (unsigned round = 0; round < 2 || (retakes() == 0 && steady::now() < patience_ends); ++round) {
        const std::size_t capacity = round % 2 == 0 ? 0 : 5;
        tally got(std::size_t{senders} * each);
        const chan<unsigned> a(capacity);
        const chan<unsigned> b(capacity);
        wait_group sending;
        for (unsigned s = 0; s < senders; ++s) {
            sending.add();
            rt().go([&, s] {
                dice d(s + 1);
                for (unsigned i = 0; i < each; ++i) {
                    outstay(d.roll());
                    const unsigned v = s * each + i;
                    if (d.roll() % 3 == 0) {
                        weft::select(on_send(a, v, [] {}), on_send(b, v, [] {}));
                    } else {
                        (i % 2 == 0 ? a : b).send(unsigned{v});
                    }
                }
                sending.done();
            });
        }
        wait_group receiving;
        receiving.add(receivers);
        for (unsigned r = 0; r < receivers; ++r) {
            rt().go([&, r] {
                dice d(100 + r);
                bool a_open = true;
                bool b_open = true;
                const chan<unsigned> nil = chan<unsigned>::nil();
                while (a_open || b_open) {
                    outstay(d.roll());
                    weft::select(on_recv(a_open ? a : nil,
                                         [&](std::optional<unsigned> v) {
                                             a_open = v.has_value();
                                             if (v) got.mark(*v);
                                         }),
                                 on_recv(b_open ? b : nil, [&](std::optional<unsigned> v) {
                                     b_open = v.has_value();
                                     if (v) got.mark(*v);
                                 }));
                }
                receiving.done();
            });
        }
        sending.wait();
        a.close();
        b.close();
        receiving.wait();
        EXPECT_TRUE(got.exactly_once()) << "capacity " << capacity;
    }
    busy.reset();
    rt().drain();
    EXPECT_GT(retakes(), 0U);
}

// Every green thread does everything that a program does.
TEST_P(RetakeStorm, AMixtureOfOperationsLosesNothing) {
    constexpr unsigned gs = 16;
    const auto rounds = static_cast<unsigned>(scaled(60));
    const auto patience_ends = steady::now() + 20s;
    auto busy = std::make_unique<crowd>(rt());
    wait_group all;
    all.add(gs);
    std::atomic<unsigned> children = 0;
    std::atomic<unsigned> started = 0;
    std::atomic<unsigned> timers = 0;
    std::atomic<unsigned> armed = 0;
    std::atomic<unsigned> thrown = 0;
    std::atomic<unsigned> caught = 0;
    std::atomic<unsigned> moves = 0;
    std::atomic<unsigned> wrong = 0;
    long inside = 0;  // guarded by m
    std::atomic<long> entered = 0;
    mutex m;
    counting_semaphore<> units(3);
    std::atomic<int> holders = 0;
    const local<unsigned> mine([] { return 0U; });
    for (unsigned g = 0; g < gs; ++g) {
        rt().go([&, g] {
            dice d(g + 1);
            const uint64_t id = this_g::id();
            for (unsigned r = 0; r < rounds || (retakes() == 0 && steady::now() < patience_ends); ++r) {
                ++*mine;
                outstay(d.roll());
                switch (d.roll() % 9) {
                    case 0: {
                        const std::lock_guard hold(m);
                        ++entered;
                        const long before = inside;
                        outstay(d.roll());
                        inside = before + 1;
                        break;
                    }
                    case 1: {
                        ++started;
                        go([&, roll = d.roll()] {
                            outstay(roll);
                            ++children;
                        });
                        break;
                    }
                    case 2: {
                        ++armed;
                        after_func(50us, [&] { ++timers; }).detach();
                        break;
                    }
                    case 3: {
                        ++thrown;
                        try {
                            try {
                                throw std::runtime_error("storm");
                            } catch (...) {
                                outstay(d.roll());
                                throw;
                            }
                        } catch (const std::runtime_error&) {
                            ++caught;
                        }
                        break;
                    }
                    case 4: {
                        const pin here;
                        const int thread = os_thread_id();
                        outstay(d.roll());
                        moves += os_thread_id() != thread;
                        break;
                    }
                    case 5: {
                        units.acquire();
                        wrong += ++holders > 3;
                        outstay(d.roll());
                        --holders;
                        units.release();
                        break;
                    }
                    case 6: {
                        const unsigned roll = d.roll();
                        wrong += async([&, roll] {
                                     outstay(roll);
                                     return roll;
                                 }).get() != roll;
                        break;
                    }
                    case 7: {
                        const chan<int> silent;
                        wrong += ending_of([&] {
                                     return with_timeout(80us, [&] {
                                         outstay(d.roll());
                                         return silent.recv();
                                     });
                                 }) == ending::served;
                        break;
                    }
                    default:
                        checkpoint();
                        break;
                }
                wrong += this_g::id() != id || *mine != r + 1;
                if (d.roll() % 2 == 0) {
                    const std::lock_guard hold(m);
                    ++entered;
                    ++inside;
                }
            }
            all.done();
        });
    }
    all.wait();
    busy.reset();
    rt().drain();
    eventually([&] { return timers == armed; });
    rt().drain();
    EXPECT_EQ(children, started);
    EXPECT_EQ(caught, thrown);
    EXPECT_EQ(inside, entered);
    EXPECT_EQ(moves, 0U);
    EXPECT_EQ(wrong, 0U);
    EXPECT_GT(retakes(), 0U);
}

// Gs that overrun their slices lose their Ps while the runtime is stopped and started.
TEST_P(RetakeStorm, ARuntimeStopsAndStartsDuringRetakes) {
    const int rounds = scaled(20);
    for (int round = 0; round < rounds; ++round) {
        std::atomic<unsigned> ended = 0;
        constexpr unsigned gs = 12;
        std::atomic<bool> over = false;
        for (unsigned g = 0; g < gs; ++g) {
            rt().go([&, g] {
                dice d(g + 7);
                while (!over) outstay(d.roll() % 6);
                ++ended;
            });
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(round % 5));
        over = true;
        const std::size_t left = rt().abandon();
        EXPECT_EQ(ended + left, gs);
        rt().start();
    }
}

}  // namespace
}  // namespace weft::test
