// stopped_test.cc: a process that is stopped again and again, as by a small CPU quota.

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "death/death.h"
#include "support/environment.h"
#include "support/eventually.h"

namespace weft::test {
namespace {

class Stopped : private calm, public DeathTest {};

// From here on the process runs for 3 ms, which is less than a time slice, and stands still for 15
// ms.
void be_stopped_again_and_again() {
    const pid_t self = ::getpid();
    if (::fork() != 0) return;
    while (::getppid() == self) {
        ::usleep(3'000);
        ::kill(self, SIGSTOP);
        ::usleep(15'000);
        ::kill(self, SIGCONT);
    }
    ::_exit(0);
}

// CPU time of all threads of the process, in milliseconds.
long used_ms() { return static_cast<long>(std::clock() / (CLOCKS_PER_SEC / 1000)); }

TEST_F(Stopped, AnInterruptedTimeSliceStillEnds) {
    EXPECT_EXIT(
        {
            be_stopped_again_and_again();
            runtime rt({.procs = 1});
            std::atomic<bool> began = false;
            std::atomic<bool> other_ran = false;
            rt.go([&] {
                const long before = used_ms();
                for (began = true; !other_ran;) {
                    if (used_ms() - before > 100) std::_Exit(1);
                }
            });
            eventually([&] { return began.load(); });
            rt.go([&] { other_ran = true; });
            rt.drain();
            std::_Exit(0);
        },
        ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft::test
