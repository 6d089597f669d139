#include "procs_test.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <weft/go.h>

#include "build.h"
#include "eventually.h"
#include "guards.h"
#include "scale.h"
#include "scan_at_end.h"

// ThreadSanitizer asks for it by that name. docs/sanitizers.md: why these two races do not exist.
extern "C" const char* __tsan_default_suppressions() {  // NOLINT: TSan's name
    return "race:std::stop_token::_Stop_state_t\n"
           "race:std::__exception_ptr::exception_ptr::_M_release\n";
}

namespace weft::test {

namespace {

// What the C library may keep of up to 64 ended threads: cached stacks, allocator arenas. A mapping
// leaked per G or message far exceeds it.
constexpr std::size_t mapping_allowance = 200;

// eventually() reports better than the watchdog, which therefore waits a little longer.
constexpr std::chrono::seconds slack(15);

}  // namespace

std::string current_test_name() {
    const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
    return test == nullptr ? "?" : std::string(test->test_suite_name()) + '.' + test->name();
}

procs_test::procs_test(std::chrono::seconds budget)
    : rt_(std::make_unique<runtime>(runtime_options{.procs = GetParam()})),
      // A simulation has no plain threads, and bounds the steps of a test itself.
      dog_(this_g::id() != 0 ? nullptr
                             : std::make_unique<watchdog>(
                                   current_test_name(), patience() + slack + budget, [this] { rt_->dump(2); })) {}

void (*scan_for_leaks)(const runtime& rt) = nullptr;

void procs_test::TearDown() {
    if (scan_for_leaks != nullptr && rt_->running()) scan_for_leaks(*rt_);
    if (rt_->running()) expect_nothing_running();
    rt_->abandon();
    dog_.reset();
    rt_.reset();
    expect_nothing_leaked();
}

void procs_test::wait_for_parks(uint64_t total, std::source_location where) {
    eventually([&] { return rt_->stats().parks >= total; }, where);
    if (scan_for_leaks != nullptr) scan_for_leaks(*rt_);
}

void procs_test::wait_for_rest(std::source_location where) {
    eventually(
        [&] {
            const stats_snapshot s = rt_->stats();
            return s.running == 0 && s.runnable == 0;
        },
        where);
}

void procs_test::expect_nothing_running() {
    rt_->drain();
    const stats_snapshot s = rt_->stats();
    EXPECT_EQ(s.live, 0U) << "green threads left after drain()";
    EXPECT_EQ(s.spawned, s.finished);
}

// With RUN_STACK_POLICY=growing, and without guard regions, each stack is two mappings, and slabs
// may remain for some seconds.
static bool stacks_are_mappings() {
    const char* policy = std::getenv("RUN_STACK_POLICY");  // NOLINT(concurrency-mt-unsafe): nobody writes it
    return (policy != nullptr && std::strcmp(policy, "growing") == 0) || !guard_regions_work();
}

void procs_test::expect_nothing_leaked() {
    resources after = resources::now();
    // The default runtime's monitor may be reading the control group's files: a short-lived
    // descriptor is no leak.
    const int symbolizer_fds = built_with_tsan ? 2 : 0;  // opened for a report, also if that is suppressed
    for (int looks = 0; after.fds > before_.fds + symbolizer_fds && looks < 200; ++looks) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        after = resources::now();
    }
    EXPECT_LE(after.fds, before_.fds + symbolizer_fds) << "file descriptors left open";
    if (!built_with_sanitizer && !stacks_are_mappings()) {  // sanitizer mappings come and go
        EXPECT_LE(after.mappings, before_.mappings + mapping_allowance) << "memory mappings left behind";
    }
}

}  // namespace weft::test
