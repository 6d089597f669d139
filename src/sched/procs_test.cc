// procs_test.cc: which request for a number of Ps counts.
#include "sched/procs.h"

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "sched/current.h"
#include "sched/scheduler.h"

namespace weft::detail {
namespace {

// The monitor may read the number before a request, and apply it after.
TEST(ChangeProcs, TheMonitorDoesNotOverrideARequestedNumber) {
    runtime rt({.procs = 1});
    scheduler& s = *rt.run([] { return current_m()->home; });
    change_procs(s, 3, procs_by::request);
    change_procs(s, 2, procs_by::monitor);
    EXPECT_EQ(s.ps.in_use(), 3U);
    change_procs(s, 3, procs_by::request_to_follow);
    change_procs(s, 2, procs_by::monitor);
    EXPECT_EQ(s.ps.in_use(), 2U);
}

}  // namespace
}  // namespace weft::detail
