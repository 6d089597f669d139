// scan_at_end.cc: the search for leaked green threads must have no false alarm in the tests of the
// library: see scan_at_end.h.
#include "support/scan_at_end.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include <weft/observe/leaks.h>

namespace weft::test {
namespace {

std::atomic<unsigned> scans{0};
std::atomic<uint64_t> waited{0};
std::atomic<unsigned> alarms{0};

void scan(const runtime& rt) {
    const observe::leak_report r = observe::leaks(rt);
    if (!r.not_searched().empty()) return;
    ++scans;
    waited += r.figures().waiting;
    if (r.empty()) return;
    ++alarms;
    ADD_FAILURE() << "none has leaked:\n" << r.text();
}

class counts : public ::testing::Environment {
public:
    void TearDown() override {
        std::printf("%u scans for leaks of %llu green threads that waited: %u false alarms\n", scans.load(),
                    static_cast<unsigned long long>(waited.load()), alarms.load());
        EXPECT_GT(scans.load(), 0U) << "nothing was scanned";
    }
};

const bool is_enabled = [] {
    if (std::getenv("WEFT_TEST_SCAN") == nullptr) return false;  // NOLINT(concurrency-mt-unsafe): before main
    scan_for_leaks = &scan;
    ::testing::AddGlobalTestEnvironment(new counts);  // NOLINT: GoogleTest owns it
    return true;
}();

}  // namespace
}  // namespace weft::test
