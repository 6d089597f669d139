// overflow_test.cc: the report of a stack overflow names the green thread; any other fault is left
// to other handlers.

#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <weft/weft.h>

#include "death/culprit.h"
#include "death/death.h"
#include "os/os.h"
#include "sched/current.h"
#include "sched/scheduler.h"
#include "stack/stack.h"
#include "support/build.h"
#include "support/guards.h"

namespace weft::test {
namespace {

class Overflow : public DeathTest {};

// Calls itself until the stack is used up. Prints its return address on the way; the report must
// show it.
[[gnu::noinline]] int recurse(int depth) {
    volatile char some[128];
    some[0] = static_cast<char>(depth);
    const int below = depth == 1'000'000'000 ? 0 : recurse(depth + 1);
    return below + some[0];
}

// The frames that EXPECT_OVERFLOW wants. Each call of the recursion returns to the same place.
inline constexpr const char* recursion = "    #%d%s weft::test::(anonymous namespace)::recurse(int) %s";
inline constexpr const char* repeated = "    … the same %d more times";

// The fault of a guard, with whichever kind of guard the system has.
#define EXPECT_OVERFLOW(statement, ...) \
    EXPECT_EXIT(statement, ::weft::test::by_abort, ::weft::test::says({__VA_ARGS__, recursion, repeated}))

TEST_F(Overflow, NamesTheGWithItsOriginItsBoundsAndItsFrames) {
    if (!guards_work()) GTEST_SKIP() << "this system has no guard regions";
    EXPECT_OVERFLOW(
        {
            runtime rt({.procs = 2});
            rt.run([] {
                wait_group all;
                all.go({.name = "deep"}, [] { recurse(0); });
                all.wait();
            });
        },
        fatal_line("stack overflow in green thread %d \"deep\" (started by %d at %soverflow_test.cc:%d, in %s)"),
        "weft: its stack of 25%d KiB, 0x%x to 0x%x, is used up at 0x%x; use a larger spawn_options::stack_size or "
        "RUN_STACK_MAX",
        frame_line);
}

TEST_F(Overflow, IsDetectedByProtectionWithoutGuardRegions) {
    EXPECT_OVERFLOW(
        {
            detail::refuse_guard_regions_for_test(true, 1000);
            runtime rt({.procs = 1});
            rt.go([] { recurse(0); });
            rt.drain();
        },
        fatal_line("stack overflow in green thread %d (started by a plain thread at %soverflow_test.cc:%d, in %s)"),
        frame_line);
}

TEST_F(Overflow, IsDetectedByWriteProtectionWithoutGuardRegions) {
    detail::refuse_guard_regions_for_test(true, 0, true);
    detail::stack_pool pool({.default_size = 64 * 1024, .cache_reserve = 0, .always_guard = false});
    ASSERT_EQ(pool.reserve(1), 0);
    if (pool.take()->guard != detail::guard_kind::write_protection) GTEST_SKIP() << "this system does not allow it";
    EXPECT_OVERFLOW(
        {
            runtime rt({.procs = 1});
            rt.go([] { recurse(0); });
            rt.drain();
        },
        fatal_line("stack overflow in green thread %d (started by a plain thread at %soverflow_test.cc:%d, in %s)"),
        frame_line);
}

TEST_F(Overflow, IsReportedInMain) {
    if (!guards_work()) GTEST_SKIP() << "this system has no guard regions";
    EXPECT_OVERFLOW(weft::main([] { recurse(0); }),
                    fatal_line("stack overflow in green thread 1 \"main\" (started by a plain thread at %s)"),
                    frame_line);
}

TEST_F(Overflow, ReportsTheSizeOfALargerStack) {
    if (!guards_work()) GTEST_SKIP() << "this system has no guard regions";
    EXPECT_OVERFLOW(
        {
            runtime rt({.procs = 1});
            rt.go({.name = "large", .stack_size = std::size_t{1} << 20}, [] { recurse(0); });
            rt.drain();
        },
        fatal_line("stack overflow in green thread %d \"large\" (started by a plain thread at %s)"),
        "weft: its stack of 102%d KiB, 0x%x to 0x%x, is used up at 0x%x; use a larger spawn_options::stack_size or "
        "RUN_STACK_MAX");
}

TEST_F(Overflow, ReportsTheSizeOfASmallStack) {
    if (!guards_work()) GTEST_SKIP() << "this system has no guard regions";
    EXPECT_OVERFLOW(
        {
            runtime rt({.procs = 1, .stack_size = 64 * 1024});
            rt.go([] { recurse(0); });
            rt.drain();
        },
        fatal_line("stack overflow in %s"), "weft: its stack of 6%d KiB, %s");
}

TEST_F(Overflow, IsAttributedToTheNewGOfAReusedStack) {
    if (!guards_work()) GTEST_SKIP() << "this system has no guard regions";
    EXPECT_OVERFLOW(
        {
            runtime rt({.procs = 1});
            rt.run([] {
                for (int i = 0; i < 100; ++i) {
                    wait_group all;
                    all.go({.name = "innocent"}, [] {});
                    all.wait();
                }
                wait_group all;
                all.go({.name = "guilty"}, [] { recurse(0); });
                all.wait();
            });
        },
        fatal_line("stack overflow in green thread %d \"guilty\" (%s"));
}

// ---- Each policy: a stack that has no guard to install, and one that is small above its guard.

void overflow_with(stack_policy policy, unsigned procs = 2) {
    runtime rt({.procs = procs, .stacks = policy});
    rt.run([] {
        wait_group all;
        all.go({.name = "deep"}, [] { recurse(0); });
        all.wait();
    });
}

TEST_F(Overflow, IsDetectedWithEveryPolicyAndNumberOfProcessors) {
    if (!guards_work()) GTEST_SKIP() << "this system has no guard regions";
    for (const stack_policy policy : {stack_policy::paged, stack_policy::fixed, stack_policy::growing}) {
        for (const unsigned procs : {1U, 4U}) {
            EXPECT_OVERFLOW(
                overflow_with(policy, procs),
                fatal_line(
                    "stack overflow in green thread %d \"deep\" (started by %d at %soverflow_test.cc:%d, in %s)"));
        }
    }
}

TEST_F(Overflow, ReportsTheSizeOfAFixedStack) {
    if (!guards_work()) GTEST_SKIP() << "this system has no guard regions";
    EXPECT_OVERFLOW(
        overflow_with(stack_policy::fixed),
        fatal_line("stack overflow in green thread %d \"deep\" (started by %d at %soverflow_test.cc:%d, in %s)"),
        "weft: its stack of 6%d KiB, 0x%x to 0x%x, is used up at 0x%x; use a larger spawn_options::stack_size or "
        "RUN_STACK_MAX",
        frame_line);
}

TEST_F(Overflow, IsDetectedAtTheMaximumOfAGrowingStack) {
    EXPECT_OVERFLOW(
        overflow_with(stack_policy::growing),
        fatal_line("stack overflow in green thread %d \"deep\" (started by %d at %soverflow_test.cc:%d, in %s)"),
        "weft: its stack of 25%d KiB, 0x%x to 0x%x, is used up at 0x%x; use a larger spawn_options::stack_size or "
        "RUN_STACK_MAX",
        frame_line);
}

TEST_F(Overflow, AGrowingStackWithoutMemoryIsReported) {
    EXPECT_ABORT(
        {
            runtime rt({.procs = 1, .stacks = stack_policy::growing});
            rt.run([] {
                detail::os::fail_all_commits_for_test();
                recurse(0);
            });
        },
        fatal_line("no memory to grow the stack of green thread %d \"run\" (started by a plain thread at %s)"),
        "weft: its stack of 25%d KiB, 0x%x to 0x%x, could not grow at 0x%x; use fewer green threads, or "
        "stack_policy::fixed",
        frame_line);
}

TEST_F(Overflow, OfABigStackNamesItsGreenThread) {
    if (!guards_work()) GTEST_SKIP() << "this system has no guard regions";
    EXPECT_OVERFLOW(
        {
            runtime rt({.procs = 1});
            rt.go({.name = "deep"}, [] { on_big_stack(std::size_t{4} << 20, [] { recurse(0); }); });
            rt.drain();
        },
        fatal_line("stack overflow in green thread %d \"deep\" (started by a plain thread at %soverflow_test.cc:%d, in "
                   "%s)"),
        "weft: its stack of 40%d KiB, 0x%x to 0x%x, is used up at 0x%x; use a larger size for on_big_stack",
        frame_line);
}

TEST_F(Overflow, AfterABigStackReportsTheOriginalBounds) {
    if (!guards_work()) GTEST_SKIP() << "this system has no guard regions";
    EXPECT_OVERFLOW(
        {
            runtime rt({.procs = 1});
            rt.go({.name = "deep"}, [] {
                on_big_stack([] {});
                recurse(0);
            });
            rt.drain();
        },
        fatal_line("stack overflow in green thread %d \"deep\" (%s"), "weft: its stack of 25%d KiB, %s", frame_line);
}

// ---- Without a guard: the runtime checks the lowest bytes of the stack when the G leaves it.

// A stack without a guard: no regions, no protection.
void without_guards() { detail::refuse_guard_regions_for_test(true, 0); }

void damage_own_canary() { detail::current_m()->g->stack->low[5] = std::byte{1}; }

constexpr const char* no_guard =
    "weft: its stack of 25%d KiB has no guard: a switch found the overflow, and the memory below is damaged; use a "
    "larger spawn_options::stack_size or RUN_STACK_MAX";

TEST_F(Overflow, WithoutAGuardIsDetectedAtTheNextSwitch) {
    if (all_stacks_are_guarded) GTEST_SKIP() << "no stack of this system is without a guard";
    EXPECT_ABORT(
        {
            without_guards();
            runtime rt({.procs = 1});
            rt.run([] {
                wait_group all;
                all.go({.name = "deep"}, [] {
                    damage_own_canary();
                    go([] {});
                    weft::yield();
                    std::fprintf(stderr, "nothing was found\n");
                });
                all.wait();
            });
        },
        fatal_line("stack overflow in green thread %d \"deep\" (started by %d at %soverflow_test.cc:%d, in %s)"),
        no_guard);
}

TEST_F(Overflow, WithoutAGuardIsDetectedWhenTheGParks) {
    if (all_stacks_are_guarded) GTEST_SKIP() << "no stack of this system is without a guard";
    EXPECT_ABORT(
        {
            without_guards();
            runtime rt({.procs = 1});
            rt.go({.name = "deep"}, [] {
                damage_own_canary();
                sleep_for(std::chrono::milliseconds(1));
                std::fprintf(stderr, "nothing was found\n");
            });
            rt.drain();
        },
        fatal_line("stack overflow in green thread %d \"deep\" (%s"), no_guard);
}

// The overflow is found then, and not in the next G that gets the stack.
TEST_F(Overflow, WithoutAGuardIsDetectedWhenTheGEnds) {
    if (all_stacks_are_guarded) GTEST_SKIP() << "no stack of this system is without a guard";
    EXPECT_ABORT(
        {
            without_guards();
            runtime rt({.procs = 1});
            rt.run([] {
                wait_group all;
                all.go({.name = "guilty"}, [] { damage_own_canary(); });
                all.wait();
                for (int i = 0; i < 10; ++i) {
                    all.go({.name = "innocent"}, [] { sleep_for(std::chrono::milliseconds(1)); });
                }
                all.wait();
            });
        },
        fatal_line("stack overflow in green thread %d \"guilty\" (%s"), no_guard);
}

TEST_F(Overflow, OfAnUnguardedBigStackIsDetectedOnReturn) {
    if (all_stacks_are_guarded) GTEST_SKIP() << "no stack of this system is without a guard";
    EXPECT_ABORT(
        {
            without_guards();
            runtime rt({.procs = 1});
            rt.go({.name = "deep"}, [] {
                on_big_stack([] { damage_own_canary(); });
                std::fprintf(stderr, "nothing was found\n");
            });
            rt.drain();
        },
        fatal_line("stack overflow in green thread %d \"deep\" (%s"),
        "weft: its stack of 10%d KiB has no guard: a switch found the overflow, and the memory below is damaged; use a "
        "larger spawn_options::stack_size or RUN_STACK_MAX");
}

// A real overflow: a recursion that ends in time, and then the next switch.
TEST_F(Overflow, WithoutAGuardARealRecursionIsDetected) {
    if (all_stacks_are_guarded) GTEST_SKIP() << "no stack of this system is without a guard";
    if (built_with_sanitizer) GTEST_SKIP() << "frames lie elsewhere";
    EXPECT_ABORT(
        {
            without_guards();
            runtime rt({.procs = 1});
            rt.go({.name = "deep"}, [] {
                struct down {
                    [[gnu::noinline]] static void go_below(const std::byte* end) {
                        volatile char some[64];
                        for (volatile char& c : some) c = 1;
                        if (static_cast<const std::byte*>(__builtin_frame_address(0)) > end) go_below(end);
                        asm volatile("" ::: "memory");
                    }
                };
                down::go_below(detail::current_m()->g->stack->low - 1024);
                sleep_for(std::chrono::milliseconds(1));
            });
            rt.drain();
        },
        fatal_line("stack overflow in green thread %d \"deep\" (%s"), no_guard);
}

// ---- Other faults.

#if !defined(_WIN32)  // it has no signals

[[gnu::noinline]] void touch_nothing() {
    volatile char* volatile nothing = reinterpret_cast<char*>(8);
    *nothing = 1;
}

void fault_in_a_g() {
    runtime rt({.procs = 1});
    rt.go([] { touch_nothing(); });
    rt.drain();
}

void handle(int signal, void (*simple)(int), void (*full)(int, siginfo_t*, void*)) {
    struct sigaction action{};
    if (full != nullptr) {
        action.sa_sigaction = full;
        action.sa_flags = SA_SIGINFO;
    } else {
        action.sa_handler = simple;
    }
    sigaction(signal, &action, nullptr);
}

TEST_F(Overflow, AnotherFaultReachesThePreviousHandler) {
    EXPECT_EXIT(
        {
            handle(SIGSEGV, nullptr, [](int signal, siginfo_t* info, void* context) {
                const bool complete =
                    signal == SIGSEGV && info->si_addr == reinterpret_cast<void*>(8) && context != nullptr;
                _exit(complete ? 42 : 43);
            });
            fault_in_a_g();
        },
        ::testing::ExitedWithCode(42), ::testing::Not(::testing::HasSubstr("weft: fatal")));
}

TEST_F(Overflow, AnotherFaultReachesASimpleHandler) {
    EXPECT_EXIT(
        {
            handle(SIGSEGV, [](int signal) { _exit(signal == SIGSEGV ? 44 : 45); }, nullptr);
            fault_in_a_g();
        },
        ::testing::ExitedWithCode(44), "");
}

TEST_F(Overflow, AnotherFaultWithoutAHandlerKillsTheProcess) {
    if (built_with_sanitizer) GTEST_SKIP() << "the sanitizer has a handler";
    EXPECT_EXIT(fault_in_a_g(), ::testing::KilledBySignal(SIGSEGV),
                ::testing::Not(::testing::HasSubstr("weft: fatal")));
}

// A signal that was sent has no faulting instruction that would fault again.
TEST_F(Overflow, ASentFaultSignalKillsTheProcess) {
    if (built_with_sanitizer) GTEST_SKIP() << "the sanitizer has a handler";
    for (const int signal : {SIGSEGV, SIGBUS}) {
        EXPECT_EXIT(
            {
                runtime rt({.procs = 1});
                rt.run([signal] { ::kill(::getpid(), signal); });
                std::_Exit(1);
            },
            ::testing::KilledBySignal(signal), ::testing::Not(::testing::HasSubstr("weft")));
    }
}

TEST_F(Overflow, AnIgnoredFaultKillsTheProcess) {
    if (built_with_sanitizer) GTEST_SKIP() << "the sanitizer has a handler";
    EXPECT_EXIT(
        {
            handle(SIGSEGV, SIG_IGN, nullptr);
            fault_in_a_g();
        },
        ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(Overflow, AFaultInAPlainThreadReachesThePreviousHandler) {
    EXPECT_EXIT(
        {
            handle(SIGSEGV, [](int) { _exit(46); }, nullptr);
            runtime rt({.procs = 1});
            std::thread([] { touch_nothing(); }).join();
        },
        ::testing::ExitedWithCode(46), "");
}

TEST_F(Overflow, AFaultInTheGuardOfAFreeStackIsNotAnOverflow) {
    if (!guard_regions_work()) GTEST_SKIP() << "this system has no guard regions";
    EXPECT_EXIT(
        {
            handle(SIGSEGV, [](int) { _exit(47); }, nullptr);
            runtime rt({.procs = 1});
            const std::byte* low = rt.run([] {
                // A stack goes back to the pool: its G is gone, but its guard stays.
                std::byte* seen = nullptr;
                wait_group all;
                all.go({.stack_size = std::size_t{1} << 20}, [&] { seen = detail::current_m()->g->stack->low; });
                all.wait();
                weft::yield();
                return seen;
            });
            *const_cast<volatile std::byte*>(low - 1) = std::byte{1};
        },
        ::testing::ExitedWithCode(47), "");
}

#endif

}  // namespace
}  // namespace weft::test
