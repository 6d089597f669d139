// freeze_test.cc: frozen green threads.
#include "sched/freeze.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "sched/current.h"
#include "sched/m.h"
#include "support/eventually.h"

namespace weft::test {
namespace {

using detail::G;
using detail::g_state;
using namespace std::chrono_literals;

class one_who_waits {
public:
    one_who_waits() {
        rt_.go([this] {
            int variable = 1;
            variable_ = &variable;
            g_.store(detail::current_m()->g, std::memory_order_release);
            woken_.wait();
            ++variable;
            found_.store(variable, std::memory_order_release);
        });
        eventually([&] { return g_.load(std::memory_order_acquire) != nullptr; });
        eventually([&] { return g()->state.load(std::memory_order_acquire) == g_state::waiting; });
    }

    [[nodiscard]] G* g() const { return g_.load(std::memory_order_acquire); }

    [[nodiscard]] int look() const { return __atomic_load_n(variable_, __ATOMIC_RELAXED); }

    void wake() { woken_.set(); }

    [[nodiscard]] int found() const { return found_.load(std::memory_order_acquire); }

private:
    event woken_;
    std::atomic<G*> g_ = nullptr;
    int* variable_ = nullptr;
    std::atomic<int> found_ = 0;
    runtime rt_{{.procs = 2}};  // last: it ends before what its green thread uses
};

TEST(Freeze, AFrozenGDoesNotResume) {
    one_who_waits one;
    G* g = one.g();
    {
        const detail::frozen still(&g, 1);
        one.wake();
        std::this_thread::sleep_for(20ms);  // time for a wrong resume
        EXPECT_EQ(one.look(), 1);
        EXPECT_EQ(one.found(), 0);
    }
    eventually([&] { return one.found() != 0; });
    EXPECT_EQ(one.found(), 2);
}

// Only the thaw orders the freezer's read before the write. ThreadSanitizer does not see how a
// switch checks the frozen bit, and must not report a race.
TEST(Freeze, AThawOrdersTheReadsBeforeLaterWrites) {
    one_who_waits one;
    std::atomic<bool> thawed = false;
    std::thread freezer([&] {
        G* g = one.g();
        {
            const detail::frozen still(&g, 1);
            EXPECT_EQ(one.look(), 1);
        }
        thawed.store(true, std::memory_order_relaxed);  // relaxed: orders nothing, on purpose
    });
    while (!thawed.load(std::memory_order_relaxed)) std::this_thread::yield();  // relaxed: as above
    one.wake();
    eventually([&] { return one.found() != 0; });
    EXPECT_EQ(one.found(), 2);
    freezer.join();
}

}  // namespace
}  // namespace weft::test
