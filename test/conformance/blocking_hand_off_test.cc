// blocking_hand_off_test.cc: when a declared blocking call hands off its P, and the visible
// effects.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include <weft/blocking.h>
#include <weft/weft.h>

#include "support/build.h"
#include "support/bystanders.h"
#include "support/captured.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class BlockingHandOff : public procs_test {
protected:
    BlockingHandOff() : procs_test(60s) {}

    // One call for each P, and some more. The others do not wait for them.
    template <typename Call>
    void others_go_on_beside(unsigned calls, Call call) {
        std::atomic<bool> over = false;
        std::atomic<unsigned> inside = 0;
        std::atomic<unsigned> ended = 0;
        for (unsigned i = 0; i < calls; ++i) {
            rt().go([&] {
                call([&] {
                    ++inside;
                    while (!over) std::this_thread::sleep_for(100us);
                });
                ++ended;
            });
        }
        eventually([&] { return inside == calls; });
        bystanders others(rt());
        EXPECT_TRUE(others.go_on());
        EXPECT_EQ(ended, 0U);
        over = true;
        rt().drain();
        EXPECT_EQ(ended, calls);
    }
};

WEFT_SWEEP_OVER(BlockingHandOff, 1U, 2U, 4U);

TEST_P(BlockingHandOff, CallsDelayNoOtherGreenThread) {
    others_go_on_beside(procs() + 3, [](auto f) { blocking(f); });
}

TEST_P(BlockingHandOff, LateHandOffDelaysNoOtherGreenThread) {
    others_go_on_beside(procs() + 3, [](auto f) { blocking(hand_off::late, f); });
    EXPECT_GT(rt().stats().retakes_in_call, 0U);
}

TEST_P(BlockingHandOff, ImmediateHandOffDelaysNoOtherGreenThread) {
    others_go_on_beside(procs() + 3, [](auto f) { blocking(hand_off::at_once, f); });
}

// A P lost in a short call because the slice ended says nothing about the call's length.
TEST(BlockingHandOffLearned, ALongSliceDoesNotMakeAShortCallCountAsLong) {
    const calm no_storm;
    runtime rt({.procs = 1});
    constexpr uint32_t long_ns = 50'000;
    std::atomic<bool> over = false;
    unsigned taken_for_long = 0;
    rt.go([&] {
        weft::detail::call_site site;
        for (int call = 0; call < 20; ++call) {
            compute_for(12ms);
            auto nothing = [] {};
            weft::detail::call_blocking(site, hand_off::learned, nothing);
            if (site.typical_ns >= long_ns) ++taken_for_long;
        }
        over = true;
    });
    rt.go([&] {
        while (!over) weft::yield();
    });
    rt.drain();
    EXPECT_LT(taken_for_long, 12U) << "of 20, unless those that were timed did not get a core";
}

// One P, and an inactive monitor: queued Gs run because the call itself hands off the P.
TEST(BlockingHandOffAtOnce, LetsOthersRunDuringTheCall) {
    const calm no_storm;
    runtime rt({.procs = 1});
    const int rounds = scaled(100);
    int met = 0;
    const uint64_t before = rt.stats().retakes_in_call;
    rt.run([&] {
        for (int i = 0; i < rounds; ++i) {
            std::atomic<bool> other_ran = false;
            wait_group other;
            other.go([&] { other_ran = true; });
            blocking(hand_off::at_once, [&] { busily([&] { return other_ran.load(); }); });
            met += other_ran;
            other.wait();
        }
    });
    EXPECT_EQ(met, rounds);
    EXPECT_EQ(rt.stats().retakes_in_call, before) << "nobody had to take it away";
}

// A G made ready before a call runs during it, whatever other calls and idle Ms do then.
TEST_P(BlockingHandOff, AGReadiedBeforeACallRunsDuringIt) {
    const int rounds = scaled(1000);
    std::atomic<int> met = 0;
    for (unsigned caller = 0; caller < procs(); ++caller) {
        rt().go([&, caller] {
            for (int i = 0; i < rounds; ++i) {
                std::atomic<bool> other_ran = false;
                wait_group other;
                compute_for(std::chrono::microseconds((7 * i + 13 * static_cast<int>(caller)) % 60));
                other.go([&] { other_ran = true; });
                blocking(hand_off::at_once, [&] { busily([&] { return other_ran.load(); }); });
                met += other_ran;
                other.wait();
            }
        });
    }
    rt().drain();
    EXPECT_EQ(met, rounds * static_cast<int>(procs()));
}

// No G waits: the caller keeps its P and its thread.
class CalmHandOff : private calm, public procs_test {};

WEFT_SWEEP_OVER(CalmHandOff, 1U, 2U, 4U);

TEST_P(CalmHandOff, NothingIsHandedOffIfNoGIsRunnable) {
    const uint64_t wakes = rt().run([] {
        const uint64_t before = stats().wakes;
        const int thread = os_thread_id();
        for (int i = 0; i < 1000; ++i) {
            blocking([] {});
            blocking(hand_off::at_once, [] {});
            blocking(hand_off::late, [] {});
        }
        EXPECT_EQ(os_thread_id(), thread);
        return stats().wakes - before;
    });
    EXPECT_EQ(wakes, 0U);
    EXPECT_EQ(rt().stats().retakes_in_call, 0U);
}

// ---- Learning. One P, and another G that always waits for it.

// One call site in the program.
void call_for(std::chrono::microseconds length) {
    blocking([&] {
        if (length > 0us) std::this_thread::sleep_for(length);
    });
}

// How many Ps the monitor had to retake during n calls of that length.
uint64_t taken_during(int n, std::chrono::microseconds length) {
    const uint64_t before = stats().retakes_in_call;
    for (int i = 0; i < n; ++i) {
        call_for(length);
        weft::yield();
    }
    return stats().retakes_in_call - before;
}

// If the machine stalls, a short call takes long. So each state is reached only eventually.
TEST(BlockingLearns, LongAndShortCallsChangeThePrediction) {
    runtime rt({.procs = 1});
    rt.run([] {
        std::atomic<bool> over = false;
        wait_group companion;
        companion.go([&] {
            while (!over) weft::yield();
        });
        for (int round = 0; round < 2; ++round) {
            // The call is believed to be short: the monitor has to retake the P.
            eventually([] {
                static_cast<void>(taken_during(100, 0us));
                return taken_during(1, 3ms) == 1;
            });
            // The call is believed to be long: it hands off the P beforehand.
            eventually([] { return taken_during(20, 3ms) == 0; });
        }
        over = true;
        companion.wait();
    });
}

// ---- Seen from outside.

// Calls f, and stores its own return address.
template <typename F>
WEFT_TEST_OPAQUE void make_call(std::atomic<uintptr_t>& return_address, F& f) {
    return_address = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    blocking(f);
    asm volatile("");  // no tail call
}

std::string hex(uintptr_t address) {
    char text[32];
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(address));
    return text;
}

TEST_P(BlockingHandOff, DumpsShowTheCallAndItsCaller) {
    std::atomic<bool> over = false;
    std::atomic<unsigned> inside = 0;
    std::atomic<uintptr_t> caller = 0;
    for (unsigned i = 0; i < procs() + 1; ++i) {
        rt().go({.name = "in-a-call"}, [&] {
            auto call = [&] {
                ++inside;
                while (!over) std::this_thread::sleep_for(100us);
            };
            make_call(caller, call);
        });
    }
    eventually([&] { return inside == procs() + 1; });
    const std::string dump = written_by([&](int fd) { rt().dump(fd, {.grouped = false, .names = false}); });
    EXPECT_EQ(occurrences(dump, "[in call"), procs() + 1U) << dump;
    const std::string section = section_of(dump, "in-a-call");
    EXPECT_TRUE(section.find(hex(caller)) != section.npos || section.find(hex(caller - 1)) != section.npos)
        << hex(caller) << " is not in\n"
        << section;
    over = true;
    rt().drain();
}

TEST_P(BlockingHandOff, DumpsDuringCallsAreSafe) {
    std::atomic<bool> over = false;
    std::atomic<int> calls = 0;
    for (unsigned i = 0; i < procs() + 2; ++i) {
        rt().go([&] {
            for (int n = 0; !over; ++n) {
                blocking(n % 2 == 0 ? hand_off::at_once : hand_off::late, [&] { ++calls; });
                weft::yield();
            }
        });
    }
    eventually([&] { return calls > 0; });
    for (int i = 0; i < scaled(30); ++i) EXPECT_FALSE(written_by([&](int fd) { rt().dump(fd); }).empty());
    const int before = calls;
    eventually([&] { return calls > before; });
    over = true;
    rt().drain();
}

// ---- Many.

TEST_P(BlockingHandOff, EveryCallRunsOnceAndReturnsToItsCaller) {
    constexpr int callers = 30;
    const int each = scaled(60);
    tally made(static_cast<std::size_t>(callers * each));
    tally returned(static_cast<std::size_t>(callers * each));
    for (int c = 0; c < callers; ++c) {
        rt().go([&, c] {
            for (int i = 0; i < each; ++i) {
                const auto number = static_cast<std::size_t>(c * each + i);
                const uint64_t id = this_g::id();
                const auto call = [&] {
                    made.mark(number);
                    if (i % 7 == 0) std::this_thread::sleep_for(200us);
                    if (i % 11 == 0) throw number;
                    return number;
                };
                try {
                    returned.mark(blocking(static_cast<hand_off>(i % 3), call));
                } catch (const std::size_t& n) {
                    returned.mark(n);
                }
                EXPECT_EQ(this_g::id(), id);
                if (i % 5 == 0) weft::yield();
            }
        });
    }
    rt().drain();
    EXPECT_TRUE(made.exactly_once());
    EXPECT_TRUE(returned.exactly_once());
}

TEST_P(BlockingHandOff, PinnedCallersResumeOnTheirThread) {
    std::atomic<int> moves = 0;
    for (unsigned i = 0; i < procs() + 2; ++i) {
        rt().go([&, i] {
            const pin here;
            const int mine = os_thread_id();
            for (int n = 0; n < scaled(50); ++n) {
                const int inside = blocking(static_cast<hand_off>(n % 3), [&] {
                    if (n % 5 == 0) std::this_thread::sleep_for(100us * i);
                    return os_thread_id();
                });
                moves += inside != mine || os_thread_id() != mine;
                if (n % 4 == 0) weft::yield();
            }
        });
    }
    rt().drain();
    EXPECT_EQ(moves, 0);
}

}  // namespace
}  // namespace weft::test
