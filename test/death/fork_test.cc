// fork_test.cc: a forbidden operation in the child of fork() ends the child with a message instead
// of a hang.

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include <weft/weft.h>

#include "death/death.h"
#include "support/build.h"
#include "support/eventually.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class ForkDeath : public DeathTest {
protected:
    void SetUp() override {
        if (built_with_tsan || emulated) GTEST_SKIP() << "neither knows processes that fork with threads";
    }
};

// The process ends the way its child does. in_child must end the child.
void die_as_child(auto in_child) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        in_child();
        ::_exit(0);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {}
    if (WIFSIGNALED(status)) std::abort();
    ::_exit(WEXITSTATUS(status));
}

const std::string ending = " used in the child of fork; see docs/fork.md";

TEST_F(ForkDeath, StartingAGreenThreadOnTheParentsRuntime) {
    EXPECT_ABORT(
        {
            runtime rt;
            die_as_child([&] { rt.go([] {}); });
        },
        fatal_line("a runtime of the parent was" + ending));
}

// None of these calls takes a lock that a thread of the parent may have held.
TEST_F(ForkDeath, ReadingTheParentsRuntime) {
    const auto look = [](auto f) {
        runtime rt;
        die_as_child([&] { f(rt); });
    };
    const std::string message = fatal_line("a runtime of the parent was" + ending);
    EXPECT_ABORT(look([](runtime& rt) { static_cast<void>(rt.stats()); }), message);
    EXPECT_ABORT(look([](runtime& rt) { static_cast<void>(rt.procs()); }), message);
    EXPECT_ABORT(look([](runtime& rt) { static_cast<void>(rt.scheduling_latency()); }), message);
    EXPECT_ABORT(look([](runtime& rt) { static_cast<void>(rt.report_deadlock(2)); }), message);
    EXPECT_ABORT(look([](runtime& rt) { rt.dump(2); }), message);
}

TEST_F(ForkDeath, WakingAGreenThreadOfTheParent) {
    EXPECT_ABORT(
        {
            runtime rt;
            const chan<int> c;
            rt.go([&] { c.recv(); });
            eventually([&] { return rt.stats().parks == 1; });
            die_as_child([&] { c.send(1); });
        },
        fatal_line("an object on which a green thread of the parent waits was" + ending));
}

TEST_F(ForkDeath, WaitingBehindAGreenThreadOfTheParent) {
    EXPECT_ABORT(
        {
            runtime rt;
            const chan<int> c;
            rt.go([&] { c.recv(); });
            eventually([&] { return rt.stats().parks == 1; });
            die_as_child([&] { c.recv(); });
        },
        fatal_line("an object on which the parent waits was" + ending));
}

TEST_F(ForkDeath, WaitingForAMutexThatTheParentHolds) {
    EXPECT_ABORT(
        {
            runtime rt;
            mutex m;
            rt.run([&] { m.lock(); });
            die_as_child([&] { m.lock(); });
        },
        fatal_line("an object that only the parent could have changed was" + ending));
}

TEST_F(ForkDeath, ReturningFromAGreenThread) {
    EXPECT_ABORT(
        {
            runtime rt;
            rt.go([] {
                if (::fork() != 0) {
                    int status = 0;
                    while (::wait(&status) < 0) {}
                    if (WIFSIGNALED(status)) std::abort();
                    ::_exit(1);
                }
            });
            rt.drain();
        },
        fatal_line("a green thread that has called fork() returned in the child; end it with exec, _exit or exit; see "
                   "docs/fork.md"));
}

TEST_F(ForkDeath, ReturningFromTheMainGreenThread) {
    EXPECT_ABORT(
        {
            weft::main([] {
                if (::fork() != 0) {
                    int status = 0;
                    while (::wait(&status) < 0) {}
                    if (WIFSIGNALED(status)) std::abort();
                    ::_exit(1);
                }
            });
        },
        fatal_line("a green thread that has called fork() returned in the child; end it with exec, _exit or exit; see "
                   "docs/fork.md"));
}

}  // namespace
}  // namespace weft::test
