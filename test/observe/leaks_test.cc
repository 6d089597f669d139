// leaks_test.cc: which green threads are reported as leaked, and which are not.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/observe/leaks.h>
#include <weft/weft.h>

#include "support/procs_test.h"

namespace weft::test {
namespace {

using LeakSearch = procs_test;
WEFT_SWEEP(LeakSearch);

TEST_P(LeakSearch, FindsAReceiveFromAChannelThatNothingElseHas) {
    park(1, [&] {
        rt().run([] {
            const chan<int> c;
            go({.name = "lost"}, [c] { c.recv(); });
        });
    });
    const observe::leak_report r = observe::leaks(rt());
    EXPECT_EQ(r.not_searched(), "");
    EXPECT_EQ(r.count(), 1U) << r.text();
    std::puts(r.text().c_str());
    const auto f = r.figures();
    printf("live %lu waiting %lu heap %lu other %lu regs %d pause %ld copy %ld search %ld\n", f.live, f.waiting, f.heap_bytes, f.other_bytes, f.has_registers, f.pause.count()/1000, f.copy.count()/1000, f.search.count()/1000);
    rt().abandon();
}

TEST_P(LeakSearch, DoesNotReportAReceiveFromAChannelOfThisThread) {
    const chan<int> c;
    park(1, [&] { rt().go([c] { c.recv(); }); });
    const observe::leak_report r = observe::leaks(rt());
    EXPECT_EQ(r.not_searched(), "");
    EXPECT_EQ(r.count(), 0U) << r.text();
    c.close();
    rt().drain();
}

}  // namespace
}  // namespace weft::test
