// stack_policy_test.cc: how much memory each kind of stack counts for, in a process with a small
// limit.
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#include <weft/stack_policy.h>
#include <weft/weft.h>

#include "death/death.h"
#include "support/build.h"
#include "support/deep.h"

namespace weft::test {
namespace {

class StackMemory : public DeathTest {};

constexpr std::size_t mib = 1024 * 1024;

// What the system counts as private writable memory of the process. It keeps this count even where
// it does not overcommit.
std::size_t counted_memory() {
    std::size_t kib = 0;
    if (std::FILE* file = std::fopen("/proc/self/status", "re")) {
        char line[256];
        while (std::fgets(line, sizeof(line), file) != nullptr) {
            if (std::sscanf(line, "VmData: %zu", &kib) == 1) break;  // NOLINT(cert-err34-c): checked by the result
        }
        std::fclose(file);
    }
    return kib * 1024;
}

// From here on the process may have this much more.
void allow(std::size_t more) {
    const rlimit limit{counted_memory() + more, RLIM_INFINITY};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) _exit(70);
}

constexpr std::size_t less_than_the_first_slab = 72 * mib;  // of which threads take some

void run_some(stack_policy policy) {
    runtime rt({.procs = 2, .stacks = policy});
    rt.run([] {
        wait_group all;
        for (int i = 0; i < 50; ++i) all.go([] { weft::yield(); });
        all.wait();
    });
}

TEST_F(StackMemory, APagedStackIsCountedInFull) {
    if (built_with_sanitizer || emulated) GTEST_SKIP() << "which has memory of its own";
    EXPECT_EXIT(
        {
            allow(less_than_the_first_slab);
            try {
                run_some(stack_policy::paged);
            } catch (const resource_exhausted&) {
                _exit(42);
            }
        },
        ::testing::ExitedWithCode(42), "");
}

TEST_F(StackMemory, AGrowingStackIsCountedAsFarAsItIsUsed) {
    if (built_with_sanitizer || emulated) GTEST_SKIP() << "which has memory of its own";
    EXPECT_EXIT(
        {
            allow(less_than_the_first_slab);
            run_some(stack_policy::growing);
            _exit(43);
        },
        ::testing::ExitedWithCode(43), "");
}

TEST_F(StackMemory, AFixedStackIsCountedInFullAndSmall) {
    if (built_with_sanitizer || emulated) GTEST_SKIP() << "which has memory of its own";
    EXPECT_EXIT(
        {
            allow(less_than_the_first_slab);
            run_some(stack_policy::fixed);
            _exit(44);
        },
        ::testing::ExitedWithCode(44), "");
}

TEST_F(StackMemory, WithoutMemoryTheGrowingGreenThreadIsNamed) {
    if (built_with_sanitizer || emulated) GTEST_SKIP() << "which has memory of its own";
    EXPECT_ABORT(
        {
            runtime rt({.procs = 1, .stack_size = 64 * mib, .stacks = stack_policy::growing});
            rt.go({.name = "deep"}, [] {
                allow(8 * mib);
                static_cast<void>(deep(40 * mib));
            });
            rt.drain();
        },
        fatal_line("no memory to grow the stack of green thread %d \"deep\" (started by a plain thread at %s)"));
}

}  // namespace
}  // namespace weft::test
