// held_mutex_test.cc: the runtime reports a wait with a system mutex held. This program is linked
// with weft_check_mutexes().

#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/captured.h"

namespace weft::test {
namespace {

class HeldMutex : public ::testing::Test {
protected:
    // The runtime's output while one green thread runs body.
    template <typename F>
    std::string said(F&& body) {
        return stderr_of([&] { rt_.run(body); });
    }

    runtime rt_{{.procs = 1}};
};

constexpr const char* complaint = "leaves its OS thread (it waits, yields or ends) while it holds";

TEST_F(HeldMutex, IsReportedAtAYield) {
    const std::string text = said([] {
        std::mutex m;
        const std::lock_guard held(m);
        go([] {});
        yield();
    });
    EXPECT_EQ(occurrences(text, complaint), 1U) << text;
    EXPECT_NE(text.find("green thread 1 \"run\""), text.npos) << text;
    EXPECT_NE(text.find("1 mutex of the system"), text.npos) << text;
    EXPECT_NE(text.find("locked at\n    #0"), text.npos) << text;
}

TEST_F(HeldMutex, IsReportedAtAWait) {
    const std::string text = said([] {
        std::mutex m;
        const chan<int> c;
        go([c] { c.send(1); });
        const std::lock_guard held(m);
        c.recv();
    });
    EXPECT_EQ(occurrences(text, complaint), 1U) << text;
}

WEFT_TEST_OPAQUE void yield_with(std::mutex& m) {
    const std::lock_guard held(m);
    go([] {});
    yield();
}

TEST_F(HeldMutex, IsReportedOnceForEachPlace) {
    const std::string text = said([] {
        std::mutex m;
        const volatile int times = 5;  // so that the loop is not unrolled: one place
        for (int i = 0; i < times; ++i) yield_with(m);
    });
    EXPECT_EQ(occurrences(text, complaint), 1U) << text;
}

TEST_F(HeldMutex, IsNotReportedIfUnlockedBefore) {
    const std::string text = said([] {
        std::mutex a;
        std::mutex b;
        for (int i = 0; i < 100; ++i) {
            {
                const std::scoped_lock held(a, b);
            }
            if (a.try_lock()) a.unlock();
            go([] {});
            yield();
        }
    });
    EXPECT_EQ(text, "");
}

TEST_F(HeldMutex, IsNotReportedInAPlainThread) {
    const std::string text = stderr_of([&] {
        std::mutex m;
        const std::lock_guard held(m);
        rt_.run([] { yield(); });
    });
    EXPECT_EQ(text, "");
}

TEST_F(HeldMutex, IsNotReportedForAWeftMutex) {
    const std::string text = said([] {
        mutex m;
        const std::lock_guard held(m);
        go([] {});
        yield();
    });
    EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace weft::test
