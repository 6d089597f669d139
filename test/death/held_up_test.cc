// held_up_test.cc: a program ends when its main green thread returns, whatever occupies its
// threads.

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include <weft/blocking.h>
#include <weft/weft.h>

#include "death/death.h"
#include "support/build.h"

namespace weft::test {
namespace {

class HeldUp : public DeathTest {};

// main starts one f for each P, waits until all have begun, and returns.
template <typename F>
void end_beside(unsigned procs, int code, F f) {
    static std::atomic<unsigned> began = 0;
    std::exit(weft::main({.procs = procs}, [&] {
        for (unsigned i = 0; i < procs; ++i) {
            go([f] {
                ++began;
                f();
            });
        }
        while (began < procs) weft::yield();
        return code;
    }));
}

void compute_for_ever() {
    for (;;) asm volatile("");  // without the asm, the compiler may remove an endless loop
}

void read_for_ever() {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    char c = 0;
    static_cast<void>(::read(ends[0], &c, 1));
}

TEST_F(HeldUp, MainReturnsBesideHogs) {
    if (built_with_asan) GTEST_SKIP() << "what only the stack of a stuck thread knows is a leak then";
    for (const unsigned procs : {1U, 2U, 4U}) {
        EXPECT_EXIT(end_beside(procs, 11, &compute_for_ever), ::testing::ExitedWithCode(11), "^$");
        EXPECT_EXIT(end_beside(procs, 12, &read_for_ever), ::testing::ExitedWithCode(12), "^$");
        EXPECT_EXIT(end_beside(procs, 13, [] { blocking(&read_for_ever); }), ::testing::ExitedWithCode(13), "^$");
        EXPECT_EXIT(end_beside(procs, 14, [] { blocking(hand_off::at_once, &read_for_ever); }),
                    ::testing::ExitedWithCode(14), "^$");
        EXPECT_EXIT(end_beside(procs, 15,
                               [] {
                                   static std::mutex m;
                                   const std::lock_guard hold(m);
                                   read_for_ever();
                               }),
                    ::testing::ExitedWithCode(15), "^$");
    }
}

}  // namespace
}  // namespace weft::test
