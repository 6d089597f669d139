// million_test.cc: one million green threads, all parked, under the system's default limits.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "stack/stack.h"
#include "support/build.h"
#include "support/captured.h"
#include "support/eventually.h"
#include "support/guards.h"
#include "support/resources.h"
#include "support/scale.h"

namespace weft::detail {
namespace {

// ThreadSanitizer supports at most 8 128 threads; a fiber counts as one.
constexpr int most_fibers = 4'000;

// A page of stack, page tables and the G.
constexpr std::size_t kib_per_g = 6;

std::size_t available_kib() {
    std::ifstream file("/proc/meminfo");
    for (std::string word; file >> word;) {
        std::size_t value = 0;
        if (word == "MemAvailable:" && file >> value) return value;
    }
    return SIZE_MAX;
}

std::size_t mapping_limit() {
    std::size_t limit = 65530;
    std::ifstream("/proc/sys/vm/max_map_count") >> limit;
    return limit;
}

// Only one process at a time holds a million stacks.
class turn {
public:
    turn() : fd_(open("/proc/self/exe", O_RDONLY | O_CLOEXEC)) { flock(fd_, LOCK_EX); }

    ~turn() { close(fd_); }

    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

private:
    int fd_;
};

struct outcome {
    uint64_t parked = 0;
    uint64_t finished = 0;
    test::resources at_height;
};

outcome park_and_release(runtime& rt, int n) {
    return rt.run([n] {
        outcome seen;
        const chan<int> gate;
        wait_group all;
        for (int i = 0; i < n; ++i) all.go([gate] { gate.recv(); });
        test::eventually([&] { return stats().parks >= static_cast<uint64_t>(n); });
        seen.parked = stats().live - 1;  // without this one
        seen.at_height = test::resources::now();
        gate.close();
        all.wait();
        test::eventually([] { return stats().live == 1; });
        seen.finished = stats().finished;
        return seen;
    });
}

class MillionParked : public ::testing::Test {
protected:
    void SetUp() override {
        turn_.emplace();
        n_ = test::scaled(1'000'000);
        if (test::built_with_tsan) n_ = std::min(n_, most_fibers);
        if (const std::size_t needed = static_cast<std::size_t>(n_) * kib_per_g; available_kib() < needed) {
            GTEST_SKIP() << n_ << " stacks need " << needed / 1024 << " MiB of memory; " << available_kib() / 1024
                         << " MiB are available (WEFT_TEST_SCALE makes it fewer)";
        }
    }

    void TearDown() override { refuse_guard_regions_for_test(false, -1); }

    void expect_all(const outcome& seen) const {
        EXPECT_EQ(seen.parked, static_cast<uint64_t>(n_));
        EXPECT_EQ(seen.finished, static_cast<uint64_t>(n_));
    }

    std::optional<turn> turn_;
    int n_ = 0;
};

TEST_F(MillionParked, FitUnderTheMappingLimitWithAGuardEach) {
    if (!test::guard_regions_work()) GTEST_SKIP() << "this system has no guard regions";
    const test::resources before = test::resources::now();
    outcome seen;
    const std::string said = test::stderr_of([&] {
        runtime rt({.procs = 2});
        seen = park_and_release(rt, n_);
    });
    const test::resources after = test::resources::now();
    expect_all(seen);
    EXPECT_EQ(said, "");
    if (test::built_with_sanitizer) return;  // sanitizer mappings come and go
    // A slab of 4 096 stacks is one mapping.
    EXPECT_LT(seen.at_height.mappings, before.mappings + static_cast<std::size_t>(n_) / 1000 + 100);
    EXPECT_LT(after.mappings, before.mappings + 100);
    EXPECT_LT(after.virtual_kib, before.virtual_kib + static_cast<std::size_t>(1024 * 1024));
}

TEST_F(MillionParked, FitWithoutGuardRegionsWithOneWarning) {
    // Few stacks would not reach the system's limit.
    const bool few = n_ < 100'000;
    refuse_guard_regions_for_test(true, few ? n_ / 10 : -1);
    const test::resources before = test::resources::now();
    outcome seen;
    const std::string said = test::stderr_of([&] {
        runtime rt({.procs = 2});
        seen = park_and_release(rt, n_);
    });
    const test::resources after = test::resources::now();
    expect_all(seen);
    EXPECT_EQ(test::lines_of(said).size(), 1U) << said;
    EXPECT_NE(said.find("canaries of further stacks"), std::string::npos) << said;
    if (test::built_with_sanitizer) return;
    EXPECT_LT(seen.at_height.mappings, mapping_limit());
    if (!few) {
        EXPECT_GT(seen.at_height.mappings, mapping_limit() / 2) << "as long as it lasts, stacks are guarded";
    }
    EXPECT_LT(after.mappings, before.mappings + 100);
}

}  // namespace
}  // namespace weft::detail
