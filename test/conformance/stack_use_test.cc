// stack_use_test.cc: for each place where green threads are started, it is known how deep their
// stacks were used.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/debug.h>
#include <weft/weft.h>

#include "support/build.h"
#include "support/captured.h"
#include "support/deep.h"
#include "support/environment.h"
#include "support/procs_test.h"

namespace weft::test {
namespace {

stack_use_at row_of(const runtime& rt, unsigned line) {
    std::vector<stack_use_at> places(300);
    places.resize(std::min(rt.stack_use(places), places.size()));
    for (const stack_use_at& p : places) {
        if (p.where.line() == line) return p;
    }
    return {};
}

constexpr std::size_t page = 4096;

using StackUse = procs_test;
WEFT_SWEEP(StackUse);

TEST_P(StackUse, MeasuresWaitingGreenThreadsOnRequest) {
    if (built_with_sanitizer) GTEST_SKIP() << "frames lie elsewhere";
    chan<int> gate;
    unsigned line = 0;
    park_off_thread(10, [&] {
        for (int i = 0; i < 10; ++i) {
            line = __LINE__ + 1;
            rt().go([&] {
                deep(100 * 1024);
                static_cast<void>(gate.recv());
            });
        }
    });
    const stack_use_at row = row_of(rt(), line);
    EXPECT_EQ(row.measured, 10U);
    EXPECT_GE(row.touched, 100U * 1024);
    EXPECT_LT(row.touched, 120U * 1024);
    EXPECT_GT(row.waiting, 100U);
    EXPECT_LT(row.waiting, 4096U);
    EXPECT_NE(std::string(row.where.file_name()).find("stack_use_test.cc"), std::string::npos);
    const capture_file file;
    rt().dump(file.fd());
    const std::string place = "stack_use_test.cc:" + std::to_string(line);
    const std::string text = file.text();
    const std::size_t table = text.find("stack use by the place that starts the green threads, deepest first:");
    ASSERT_NE(table, text.npos);
    EXPECT_NE(text.find(place, table), text.npos) << text.substr(table);
    gate.close();
    rt().drain();
}

TEST_P(StackUse, IsSortedByDepthAndReturnsTheNumberOfPlaces) {
    chan<int> gate;
    park_off_thread(2, [&] {
        rt().go([&] { static_cast<void>(gate.recv()); });
        rt().go([&] {
            deep(50 * 1024);
            static_cast<void>(gate.recv());
        });
    });
    stack_use_at one[1];
    EXPECT_GE(rt().stack_use(one), 2U);
    EXPECT_GE(one[0].touched, built_with_sanitizer ? 1024U : 50U * 1024);  // a sanitizer's frames lie elsewhere
    EXPECT_GE(rt().stack_use({}), 2U);
    gate.close();
    rt().drain();
}

TEST_P(StackUse, ExcludesBigStacks) {
    if (built_with_sanitizer) GTEST_SKIP() << "frames lie elsewhere";
    chan<int> gate;
    unsigned line = 0;
    park_off_thread(1, [&] {
        line = __LINE__ + 1;
        rt().go([&] {
            on_big_stack([&] {
                deep(800 * 1024);
                static_cast<void>(gate.recv());
            });
        });
    });
    const stack_use_at row = row_of(rt(), line);
    EXPECT_EQ(row.measured, 1U);
    EXPECT_LT(row.touched, 300U * 1024);
    gate.close();
    rt().drain();
}

// With RUN_DEBUG=stack_use: what each green thread used itself.
class MeasuredStackUse : public ::testing::TestWithParam<stack_policy> {
protected:
    MeasuredStackUse() {
        const environment_variable debugging("RUN_DEBUG", "stack_use=1");
        rt_ = std::make_unique<runtime>(runtime_options{.procs = 2, .stack_size = 256 * 1024, .stacks = GetParam()});
    }

    std::unique_ptr<runtime> rt_;
};

INSTANTIATE_TEST_SUITE_P(Policies,
                         MeasuredStackUse,
                         ::testing::Values(stack_policy::paged, stack_policy::fixed, stack_policy::growing));

TEST_P(MeasuredStackUse, MeasuresEachGreenThreadToThePage) {
    if (built_with_sanitizer) GTEST_SKIP() << "frames lie elsewhere";
    unsigned shallow = 0;
    unsigned deeper = 0;
    for (int round = 0; round < 50; ++round) {
        rt_->run([&] {
            wait_group all;
            deeper = __LINE__ + 1;
            for (int i = 0; i < 4; ++i) all.go([] { deep(150 * 1024); });
            all.wait();
            shallow = __LINE__ + 1;
            for (int i = 0; i < 4; ++i) all.go([] { weft::yield(); });
            all.wait();
        });
    }
    const stack_use_at d = row_of(*rt_, deeper);
    const stack_use_at s = row_of(*rt_, shallow);
    EXPECT_EQ(d.measured, 200U);
    EXPECT_EQ(s.measured, 200U);
    EXPECT_GE(d.touched, 150U * 1024);
    EXPECT_LE(d.touched, 150U * 1024 + 12 * page);
    EXPECT_LE(s.touched, 3 * page) << "what an earlier one has touched does not count";
}

}  // namespace
}  // namespace weft::test
