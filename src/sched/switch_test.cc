// switch_test.cc: what a switch preserves: registers, rounding mode, frames.
#include "sched/switch.h"

#include <atomic>
#include <cfenv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "context/fp_control.h"
#include "context/kept_registers.h"
#include "support/crossroads.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"
#include "support/unwinding.h"

namespace weft::test {
namespace {

using Switch = procs_test;
WEFT_SWEEP(Switch);

constexpr int gs = 8;

// ---- Registers.

// Each G keeps values of its own in all callee-saved registers.
template <typename Wait>
uint64_t keep_across(int rounds, int who, Wait wait) {
    uint64_t changed = 0;
    for (int i = 0; i < rounds; ++i) {
        const uint64_t seed =
            (uint64_t{0xABCD} << 48) + (static_cast<uint64_t>(who) << 32) + (static_cast<uint64_t>(i) << 8);
        changed |= weft_keep_registers(seed, [](void* f) { (*static_cast<Wait*>(f))(); }, &wait);
    }
    return changed;
}

TEST_P(Switch, YieldKeepsEveryCalleeSavedRegister) {
    std::atomic<uint64_t> changed{0};
    rt().run([&] {
        wait_group all;
        for (int who = 0; who < gs; ++who) {
            all.go([&, who] { changed |= keep_across(scaled(1000), who, [] { weft::yield(); }); });
        }
        all.wait();
    });
    EXPECT_EQ(changed.load(), 0U) << weft_kept_register_names;
}

TEST_P(Switch, ParkKeepsEveryCalleeSavedRegister) {
    std::atomic<uint64_t> changed{0};
    rt().run([&] {
        const chan<int> ring[2];
        const auto turns = [&](int who) {
            changed |= keep_across(scaled(1000), who, [&] {
                ring[1 - who].send(1);
                ring[who].recv();
            });
        };
        wait_group all;
        all.go([&] {
            ring[0].recv();
            turns(0);
        });
        all.go([&] {
            changed |= keep_across(scaled(1000), 1, [&] {
                ring[0].send(1);
                ring[1].recv();
            });
            ring[0].send(1);
        });
        all.wait();
    });
    EXPECT_EQ(changed.load(), 0U) << weft_kept_register_names;
}

TEST_P(Switch, SleepKeepsEveryCalleeSavedRegister) {
    std::atomic<uint64_t> changed{0};
    rt().run([&] {
        wait_group all;
        for (int who = 0; who < gs; ++who) {
            all.go([&, who] {
                changed |= keep_across(scaled(50), who, [] { sleep_for(std::chrono::microseconds(50)); });
            });
        }
        all.wait();
    });
    EXPECT_EQ(changed.load(), 0U) << weft_kept_register_names;
}

TEST_P(Switch, MigrationKeepsEveryCalleeSavedRegister) {
    if (procs() == 1) GTEST_SKIP() << "one P: nowhere to go";
    const int wanted = scaled(100);
    std::atomic<uint64_t> changed{0};
    rt().run([&] {
        const crossroads place;
        std::atomic<int> satisfied{0};
        wait_group all;
        for (int who = 0; who < gs; ++who) {
            all.go([&, who] {
                int migrations = 0;
                // Without this the last ones have no partner.
                for (int round = 0; satisfied.load() < gs; ++round) {
                    changed |= keep_across(1, who + round * gs, [&] {
                        const int before = os_thread_id();
                        place.cross();
                        if (os_thread_id() != before && ++migrations == wanted) satisfied.fetch_add(1);
                    });
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(changed.load(), 0U) << weft_kept_register_names;
}

// ---- Floating-point control.

// The quotient shows the rounding direction.
[[gnu::noinline]] double third() {
    volatile double one = 1;
    volatile double three = 3;
    return one / three;
}

double third_rounded(int mode) {
    const int before = std::fegetround();
    std::fesetround(mode);
    const double result = third();
    std::fesetround(before);
    return result;
}

TEST_P(Switch, RoundingModesStayWithTheirGs) {
    const double up = third_rounded(FE_UPWARD);
    const double down = third_rounded(FE_DOWNWARD);
    const double nearest = third_rounded(FE_TONEAREST);
    ASSERT_NE(up, down);
    std::atomic<int> wrong{0};
    rt().run([&] {
        const crossroads place;
        wait_group all;
        const auto story = [&](int mode, double expected) {
            return [&place, &wrong, mode, expected] {
                wrong += std::fegetround() != FE_TONEAREST;
                if (mode != FE_TONEAREST) std::fesetround(mode);
                for (int i = 0; i < scaled(500); ++i) {
                    place.cross();
                    wrong += std::fegetround() != mode;
                    wrong += third() != expected;
                }
            };
        };
        for (int i = 0; i < 3; ++i) {
            all.go({.own_fp_control = true}, story(FE_UPWARD, up));
            all.go({.own_fp_control = true}, story(FE_DOWNWARD, down));
            all.go(story(FE_TONEAREST, nearest));
        }
        all.wait();
    });
    EXPECT_EQ(wrong.load(), 0);
}

TEST_P(Switch, ARoundingModeEndsWithItsG) {
    std::atomic<int> wrong{0};
    rt().run([&] {
        for (int i = 0; i < 20; ++i) {
            wait_group all;
            all.go([&] { wrong += std::fegetround() != FE_TONEAREST; });
            all.go({.own_fp_control = true}, [] { std::fesetround(FE_UPWARD); });
            all.go([&] { wrong += std::fegetround() != FE_TONEAREST; });
            all.go({.own_fp_control = true}, [] { std::fesetround(FE_DOWNWARD); });
            all.wait();
            wrong += std::fegetround() != FE_TONEAREST;
        }
    });
    EXPECT_EQ(wrong.load(), 0);
}

TEST(FpControl, TheDefaultIsThatOfANewThread) {
    EXPECT_EQ(weft::detail::read_fp_control() & ~uint64_t{0x3F}, weft::detail::default_fp_control() & ~uint64_t{0x3F})
        << "but for the sticky exception flags";
}

TEST(FpControl, ReadsBackWrittenValues) {
    const uint64_t before = weft::detail::read_fp_control();
    std::fesetround(FE_UPWARD);
    const uint64_t up = weft::detail::read_fp_control();
    EXPECT_NE(up, before);
    weft::detail::write_fp_control(before);
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    weft::detail::write_fp_control(up);
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    weft::detail::write_fp_control(before);
}

// ---- Frames.

[[gnu::noinline]] unwound unwind_below(int depth) {
    if (depth == 0) return unwind_here();
    unwound found = unwind_below(depth - 1);
    asm volatile("" ::"r"(&found) : "memory");  // not a tail call
    return found;
}

TEST_P(Switch, UnwindingAGEndsAtTheFirstCodeOfItsStack) {
    rt().run([] {
        for (int depth = 0; depth < 50; depth += 7) {
            const unwound found = unwind_below(depth);
            EXPECT_TRUE(found.ended);
            EXPECT_GT(found.functions.size(), static_cast<std::size_t>(depth) + 2);
            EXPECT_EQ(found.functions.back(), reinterpret_cast<void*>(&run_context_entry));
        }
    });
}

TEST_P(Switch, UnwindingStillWorksAfterAPark) {
    rt().run([] {
        const chan<int> c;
        wait_group all;
        all.go([&] {
            c.recv();
            const unwound found = unwind_below(5);
            EXPECT_TRUE(found.ended);
            EXPECT_EQ(found.functions.back(), reinterpret_cast<void*>(&run_context_entry));
        });
        c.send(1);
        all.wait();
    });
}

[[gnu::noinline]] void throw_after_waiting(int depth, const crossroads& place, int& destroyed) {
    struct counted {
        int& count;

        ~counted() { ++count; }
    };

    const counted here{destroyed};
    place.cross();
    if (depth == 0) throw std::runtime_error("from below");
    throw_after_waiting(depth - 1, place, destroyed);
}

TEST_P(Switch, AnExceptionPassesThroughFramesThatHaveParked) {
    std::atomic<int> caught{0};
    std::atomic<int> destroyed_all{0};
    rt().run([&] {
        const crossroads place;
        wait_group all;
        for (int who = 0; who < gs; ++who) {
            all.go([&] {
                int destroyed = 0;
                try {
                    throw_after_waiting(20, place, destroyed);
                } catch (const std::runtime_error& e) {
                    caught += std::string(e.what()) == "from below";
                }
                destroyed_all += destroyed;
            });
        }
        all.wait();
    });
    EXPECT_EQ(caught.load(), gs);
    EXPECT_EQ(destroyed_all.load(), gs * 21);
}

TEST_P(Switch, AGStartsOnAnAlignedStack) {
    std::atomic<int> misaligned{0};
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < 100; ++i) {
            all.go([&] { misaligned += reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) % 16 != 0; });
            if (i % 7 == 0) weft::yield();
        }
        all.wait();
    });
    EXPECT_EQ(misaligned.load(), 0);
}

}  // namespace
}  // namespace weft::test
