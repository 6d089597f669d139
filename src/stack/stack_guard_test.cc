// stack_guard_test.cc: the guard below a stack, and the fallbacks when the system refuses it.
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "stack/stack.h"
#include "support/build.h"
#include "support/captured.h"
#include "support/eventually.h"
#include "support/guards.h"
#include "support/resources.h"

namespace weft::detail {
namespace {

constexpr std::size_t small_guarded = 64 * 1024;
constexpr int unlimited = 1'000'000;
constexpr const char* warning =
    "weft: no guard regions (they need Linux 6.13) and no mappings left (raise vm.max_map_count): each switch checks "
    "the canaries of further stacks\n";

sigjmp_buf before_the_write;

// In this process, because a fork does not inherit write protection.
bool faults(std::byte* address) {
    struct sigaction jump{};
    jump.sa_handler = [](int) { siglongjmp(before_the_write, 1); };
    struct sigaction segv{};
    struct sigaction bus{};
    sigaction(SIGSEGV, &jump, &segv);
    sigaction(SIGBUS, &jump, &bus);
    const bool fault = sigsetjmp(before_the_write, 1) != 0;
    if (!fault) *const_cast<volatile std::byte*>(address) = std::byte{0};
    sigaction(SIGSEGV, &segv, nullptr);
    sigaction(SIGBUS, &bus, nullptr);
    return fault;
}

void expect_guarded(const stack& s) {
    EXPECT_TRUE(faults(s.low - 1));
    EXPECT_TRUE(faults(s.low - guard_size / 2));
    EXPECT_TRUE(faults(s.low - guard_size));
    EXPECT_FALSE(faults(s.low));
    EXPECT_FALSE(faults(s.low + s.size() - 1));
}

class StackGuard : public ::testing::Test {
protected:
    ~StackGuard() override { refuse_guard_regions_for_test(false, -1); }

    // A new pool, without guard regions, with that many mprotect guards.
    void refuse(int protections_allowed) {
        refuse_guard_regions_for_test(true, protections_allowed);
        make_pool(false);
    }

    void make_pool(bool always) {
        pool_ = std::make_unique<stack_pool>(
            stack_pool::options{.default_size = small_guarded, .cache_reserve = 0, .always_guard = always});
    }

    stack* take() {
        EXPECT_EQ(pool_->reserve(1), 0);
        return pool_->take();
    }

    std::unique_ptr<stack_pool> pool_;
};

TEST_F(StackGuard, IsARegionIfTheSystemSupportsThem) {
    if (!test::guard_regions_work()) GTEST_SKIP() << "this system has no guard regions";
    make_pool(false);
    take();
    const stack* s = take();
    EXPECT_EQ(s->guard, guard_kind::region);
    expect_guarded(*s);
}

TEST_F(StackGuard, RegionsCostNoMappings) {
    if (!test::guard_regions_work() || test::built_with_sanitizer)
        GTEST_SKIP() << "no guard regions, or a sanitizer's own mappings";
    make_pool(false);
    ASSERT_EQ(pool_->reserve(4096), 0);
    const std::size_t before = test::resources::now().mappings;
    for (int i = 0; i < 4000; ++i) ASSERT_NE(pool_->take(), nullptr);
    EXPECT_LE(test::resources::now().mappings, before + 4);
}

TEST_F(StackGuard, WithoutRegionsIsAWriteProtectedRange) {
    refuse_guard_regions_for_test(true, 0, true);
    make_pool(false);
    const std::string said = test::stderr_of([&] { static_cast<void>(take()); });
    const stack* s = take();
    if (s->guard != guard_kind::write_protection) GTEST_SKIP() << "this system does not allow it";
    EXPECT_EQ(said, "");
    expect_guarded(*s);
}

TEST_F(StackGuard, WriteProtectionCostsNoMappings) {
    refuse_guard_regions_for_test(true, 0, true);
    make_pool(false);
    (void)test::stderr_of([&] { static_cast<void>(take()); });
    if (take()->guard != guard_kind::write_protection || test::built_with_sanitizer)
        GTEST_SKIP() << "this system does not allow it";
    ASSERT_EQ(pool_->reserve(4096), 0);
    const std::size_t before = test::resources::now().mappings;
    for (int i = 0; i < 4000; ++i) ASSERT_EQ(pool_->take()->guard, guard_kind::write_protection);
    EXPECT_LE(test::resources::now().mappings, before + 4);
}

TEST_F(StackGuard, WithoutRegionsIsAProtectedRange) {
    refuse(unlimited);
    take();
    const stack* s = take();
    EXPECT_EQ(s->guard, guard_kind::protection);
    expect_guarded(*s);
}

TEST_F(StackGuard, ALargerStackHasAGuard) {
    for (const bool refused : {false, true}) {
        refuse_guard_regions_for_test(refused, unlimited);
        if (!refused && !test::guard_regions_work()) continue;
        make_pool(false);
        int error = 0;
        const stack* s = pool_->take_large(1, error);
        ASSERT_NE(s, nullptr);
        EXPECT_EQ(s->guard, refused ? guard_kind::protection : guard_kind::region);
        expect_guarded(*s);
    }
}

TEST_F(StackGuard, BeyondTheMappingLimitIsACanaryWithOneWarning) {
    refuse(5);
    const std::string said = test::stderr_of([&] {
        for (int i = 0; i < 5; ++i) EXPECT_EQ(take()->guard, guard_kind::protection);
        for (int i = 0; i < 1000; ++i) EXPECT_EQ(take()->guard, guard_kind::canary);
    });
    EXPECT_EQ(said, warning);
}

TEST_F(StackGuard, TheSystemsLimitLeavesRoomForTheRestOfTheProcess) {
    refuse(-1);
    EXPECT_EQ(take()->guard, guard_kind::protection);
}

TEST_F(StackGuard, EveryByteOfACanaryIsChecked) {
    refuse(0);
    (void)test::stderr_of([&] {
        const stack* s = take();
        EXPECT_TRUE(canary_intact(*s));
        for (std::size_t i = 0; i < canary_size; ++i) {
            s->low[i] = std::byte{1};
            EXPECT_FALSE(canary_intact(*s)) << "byte " << i;
            s->low[i] = std::byte{0};
        }
        s->low[canary_size] = std::byte{1};
        EXPECT_TRUE(canary_intact(*s)) << "above it the stack may be used";
    });
}

TEST_F(StackGuard, CheckingACanaryCommitsNoPage) {
    if (test::built_with_sanitizer) GTEST_SKIP() << "the sanitizer's shadow costs pages";
    if (test::emulated) GTEST_SKIP() << "the emulator has memory of its own";
    refuse(0);
    (void)test::stderr_of([&] {
        constexpr int n = 4000;
        ASSERT_EQ(pool_->reserve(n), 0);
        std::unique_ptr<stack*[]> all(new stack*[n]);
        for (int i = 0; i < n; ++i) all[i] = pool_->take();
        const std::size_t before = test::resources::now().resident_kib;
        for (int i = 0; i < n; ++i) EXPECT_TRUE(canary_intact(*all[i]));
        EXPECT_LT(test::resources::now().resident_kib, before + n) << "reading made pages resident";
    });
}

// ---- guard_policy::always.

TEST_F(StackGuard, AlwaysPolicyGuardsStacksBeforeGivingCredit) {
    refuse_guard_regions_for_test(true, 256);
    make_pool(true);
    ASSERT_EQ(pool_->reserve(256), 0);
    const std::string said = test::stderr_of([&] { EXPECT_EQ(pool_->reserve(1), ENOMEM); });
    EXPECT_EQ(said, "") << "nobody gets a stack with a canary";
    EXPECT_EQ(pool_->mapped(), 256U);
    for (int i = 0; i < 256; ++i) {
        const stack* s = pool_->take();
        if (i % 50 == 0) expect_guarded(*s);
    }
}

TEST_F(StackGuard, AlwaysPolicyRefusesAnUnguardedLargerStack) {
    refuse_guard_regions_for_test(true, 0);
    make_pool(true);
    int error = 0;
    (void)test::stderr_of([&] { EXPECT_EQ(pool_->take_large(1, error), nullptr); });
    EXPECT_EQ(error, ENOMEM);
}

TEST_F(StackGuard, AlwaysPolicyRefusesARuntimeWithoutGuards) {
    refuse_guard_regions_for_test(true, 0);
    (void)test::stderr_of(
        [] { EXPECT_THROW(runtime({.procs = 1, .guard = guard_policy::always}), resource_exhausted); });
    refuse_guard_regions_for_test(false, -1);
    runtime rt({.procs = 1, .guard = guard_policy::always});
    EXPECT_EQ(rt.run([] { return 7; }), 7);
}

TEST_F(StackGuard, AlwaysPolicyDoesNotStartAnUnguardedG) {
    refuse_guard_regions_for_test(true, 256);
    (void)test::stderr_of([] {
        runtime rt({.procs = 1, .guard = guard_policy::always});
        const int started = rt.run([] {
            chan<int> gate;
            wait_group all;
            int n = 0;
            try {
                for (; n < 1000; ++n) all.go([gate] { gate.recv(); });
            } catch (const resource_exhausted& e) {
                EXPECT_EQ(e.code().value(), ENOMEM);
            }
            gate.close();
            all.wait();
            test::eventually([&] { return stats().finished == static_cast<uint64_t>(n); });
            return n;
        });
        EXPECT_GT(started, 100);
        EXPECT_LT(started, 256);
    });
}

TEST_F(StackGuard, ADestroyedPoolReturnsItsMappings) {
    refuse(300);
    for (int round = 0; round < 5; ++round) {
        make_pool(false);
        for (int i = 0; i < 200; ++i) ASSERT_EQ(take()->guard, guard_kind::protection) << "round " << round;
    }
}

}  // namespace
}  // namespace weft::detail
