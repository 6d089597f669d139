// hog_share_test.cc: the share of processor time that Gs get beside many hogs.
//
// Shares are counted in equal pieces of work, and compared with plain threads that do the same work
// simultaneously. So other load slows down both.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/blocking.h>
#include <weft/weft.h>

#include "support/build.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

class HogShare : public procs_test {
protected:
    HogShare() : procs_test(120s) {}
};

WEFT_SWEEP_OVER(HogShare, 1U, 2U, 4U);

// Some ten microseconds of work.
WEFT_TEST_OPAQUE unsigned piece_of_work() {
    unsigned x = 1;
    for (int i = 0; i < 20'000; ++i) x = x * 1'664'525 + 1'013'904'223;
    return x;
}

// Counts the pieces of work done by all threads.
struct worker {
    void work() {
        if (piece_of_work() != 0) done.fetch_add(1, std::memory_order_relaxed);
    }

    std::atomic<long> done{0};
};

// A thousand Gs compute and yield. Each gets its turn, and none gets many more than another.
TEST_P(HogShare, AThousandYieldersAllProgress) {
    const auto hogs = static_cast<std::size_t>(scaled(1000));
    constexpr int turns = 2;
    constexpr std::size_t others = 10;
    std::atomic<std::size_t> finished = 0;
    std::vector<worker> seen(others);
    std::atomic<bool> over = false;
    wait_group all_hogs;
    all_hogs.add(static_cast<int>(hogs));
    rt().run([&] {
        for (std::size_t i = 0; i < hogs; ++i) {
            if (i % (hogs / others) == 0 && i / (hogs / others) < others) {
                go([&, mine = i / (hogs / others)] {
                    while (!over) {
                        seen[mine].work();
                        weft::yield();
                    }
                });
            }
            go([&] {
                for (int turn = 0; turn < turns; ++turn) {
                    compute_for(2ms);
                    weft::yield();
                }
                ++finished;
                all_hogs.done();
            });
        }
    });
    all_hogs.wait();
    over = true;
    rt().drain();
    EXPECT_EQ(finished, hogs);
    for (const worker& w : seen) EXPECT_GE(w.done, turns) << "one turn for each of a hog's";
}

// A slice is a slice, whatever blocking calls are made in it. Ten milliseconds are ten such calls.
// Callers that never gave way would make a thousand for each turn of the other G.
TEST_P(HogShare, ShortBlockingCallsDoNotExtendASlice) {
    constexpr int enough = 20;
    constexpr long fair = 100;  // calls of each hog per turn of the other
    std::atomic<bool> over = false;
    std::atomic<unsigned> began = 0;
    std::atomic<long> calls = 0;
    std::atomic<int> turns = 0;
    for (unsigned i = 0; i < procs(); ++i) {
        rt().go([&] {
            ++began;
            while (!over) {
                blocking([] { ::getppid(); });
                ++calls;
                compute_for(1ms);
            }
        });
    }
    eventually([&] { return began == procs(); });
    const long before = calls;
    rt().go([&] {
        for (; turns < enough && !over; ++turns) {
            for (const long then = calls; calls == then && !over;) weft::yield();
        }
    });
    eventually([&] { return turns == enough || calls - before >= fair * enough * procs(); });
    EXPECT_EQ(turns, enough);
    over = true;
    rt().drain();
}

// As many hogs as Ps, and one well-behaved G whose work is counted. It gets what a plain thread
// gets, within a factor.
TEST_P(HogShare, AGBesideHogsGetsTheShareOfAPlainThread) {
    constexpr long pieces = 3000;
    constexpr long factor = 8;
    std::atomic<bool> over = false;
    std::atomic<unsigned> began = 0;
    for (unsigned i = 0; i < procs(); ++i) {
        rt().go([&] {
            ++began;
            while (!over) {}
        });
    }
    eventually([&] { return began == procs(); });
    worker green;
    worker plain;
    rt().go([&] {
        while (!over) {
            green.work();
            weft::yield();
        }
    });
    eventually([&] { return green.done > 0; });  // the Ps have been retaken
    const long before = green.done;
    std::thread beside([&] {
        // Long enough for a busy machine to give each of the two its turns.
        const auto until = steady_clock::now() + 500ms;
        while (plain.done < pieces || steady_clock::now() < until) plain.work();
    });
    beside.join();
    const long got = green.done - before;
    over = true;
    rt().drain();
    EXPECT_GE(got * factor, plain.done);
}

// Some hogs yield and some do not. All work gets done. The messages begin when every processor has
// a hog; no hog ends before the last message has arrived.
TEST_P(HogShare, ManyHogsWithoutPsDoNotStarveOthers) {
    const auto hogs = std::max(static_cast<unsigned>(scaled(40)), 2 * procs());
    const int messages = scaled(2000);
    std::atomic<unsigned> began = 0;
    std::atomic<unsigned> finished = 0;
    std::atomic<int> sum = 0;
    for (unsigned i = 0; i < hogs; ++i) {
        rt().go([&] {
            ++began;
            do {
                compute_for(40ms);
            } while (sum < messages);
            ++finished;
        });
    }
    eventually([&] { return began >= procs(); });
    const chan<int> c;
    rt().go([&] {
        for (int i = 0; i < messages; ++i) c.send(1);
        c.close();
    });
    rt().go([&] {
        for (const int v : c) sum += v;
    });
    rt().drain();
    EXPECT_EQ(finished, hogs);
    EXPECT_EQ(sum, messages);
    const auto s = rt().stats();
    EXPECT_GT(s.retakes_burning + s.retakes_blocked, 0U);
}

}  // namespace
}  // namespace weft::test
