// process_end_test.cc: a process may end while green threads wait on its global objects.

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include <weft/weft.h>

#include "death/death.h"
#include "support/build.h"
#include "support/eventually.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// Destroyed by exit(), in the statements below.
const chan<int> global_chan;
wait_group global_group;
mutex global_mutex;

// Destroyed in the opposite order: the runtime stops after the others are gone.
std::unique_ptr<runtime> global_runtime;
std::unique_ptr<wait_group> owned_group;
std::unique_ptr<mutex> owned_mutex;

// Starts green threads that wait on each of the objects, and one that holds the mutex. All of them
// wait when this returns.
void wait_on_all() {
    const uint64_t before = stats().parks;
    go([] { global_chan.recv(); });
    global_group.add();
    go([] { global_group.wait(); });
    go([] {
        global_mutex.lock();
        chan<int>::nil().recv();
    });
    eventually([&] { return stats().parks == before + 3; });
}

class ProcessEnd : public DeathTest {};

TEST_F(ProcessEnd, IsSilentWithWaitersOfTheDefaultRuntime) {
    EXPECT_EXIT(
        {
            wait_on_all();
            std::exit(3);
        },
        ::testing::ExitedWithCode(3), "^$");
}

TEST_F(ProcessEnd, IsSilentWithWaitersAfterMain) {
    EXPECT_EXIT(std::exit(weft::main({.procs = 2},
                                     [] {
                                         wait_on_all();
                                         return 4;
                                     })),
                ::testing::ExitedWithCode(4), "^$");
}

// The thread_local objects of a thread are destroyed after its runtime has stopped scheduling. What
// their destructors start runs on the default runtime.
TEST_F(ProcessEnd, AThreadLocalDestructorMayWaitForAGreenThread) {
    struct late {
        ~late() {
            event ran;
            go([&] { ran.set(); });
            ran.wait();
        }

        int uses = 0;
    };

    const auto use = [] {
        static thread_local late one;
        ++one.uses;
    };
    EXPECT_EXIT(
        {
            for (int round = 0; round < 5; ++round) {
                weft::main({.procs = 8}, [&] {
                    wait_group all;
                    for (int i = 0; i < 100; ++i) {
                        all.go([&] {
                            ::usleep(300);
                            use();
                        });
                    }
                    all.wait();
                });
            }
            std::exit(0);
        },
        ::testing::ExitedWithCode(0), "^$");
}

TEST_F(ProcessEnd, IsSilentWithWaitersInAGreenThread) {
    if (built_with_asan) GTEST_SKIP() << "what only the stack of the calling thread knows is a leak then";
    EXPECT_EXIT(weft::main({.procs = 2},
                           [] {
                               wait_on_all();
                               std::exit(5);
                           }),
                ::testing::ExitedWithCode(5), "^$");
}

// An M other than the calling thread does not come back, so waiters stay in the queues of what they
// wait on.
TEST_F(ProcessEnd, MainMayLeaveAThreadBehind) {
    EXPECT_EXIT(
        {
            int code = 0;
            {
                const chan<int> outer;
                code = weft::main({.procs = 2}, [&] {
                    wait_on_all();
                    go([&] { outer.recv(); });
                    yield();
                    std::atomic<bool> is_stuck{false};
                    event stuck;
                    for (int i = 0; i < 2; ++i) {
                        go([&, main_tid = getpid()] {
                            while (gettid() == main_tid) {
                                if (is_stuck) return;
                                yield();
                            }
                            if (is_stuck.exchange(true)) return;
                            stuck.set();
                            std::this_thread::sleep_for(1h);  // a call that does not come back
                        });
                    }
                    stuck.wait();  // from here on this is the thread that called main
                    return 6;
                });
            }
            std::exit(code);
        },
        ::testing::ExitedWithCode(6), "^$");
}

TEST_F(ProcessEnd, ARuntimeMayStopAfterObjectsOfItsWaiters) {
    EXPECT_EXIT(
        {
            global_runtime = std::make_unique<runtime>(runtime_options{.procs = 1});
            owned_group = std::make_unique<wait_group>();
            owned_mutex = std::make_unique<mutex>();
            owned_group->add();
            owned_mutex->lock();
            for (int i = 0; i < 2; ++i) {
                global_runtime->go([] { owned_group->wait(); });
                global_runtime->go([] { owned_mutex->lock(); });
            }
            eventually([&] { return global_runtime->stats().parks == 4; });
            std::exit(8);
        },
        ::testing::ExitedWithCode(8), "^$");
}

// The thread that dumps waits until its output is read, which happens after main.
TEST_F(ProcessEnd, MainMayLeaveADumpUnread) {
    EXPECT_EXIT(
        {
            int ends[2];
            if (pipe(ends) != 0) std::_Exit(1);
            std::thread dumping;
            const int code = weft::main({.procs = 2}, [&] {
                for (int i = 0; i < 1000; ++i) go([] { chan<int>::nil().recv(); });
                while (stats().parks < 1000) yield();
                dumping = std::thread([&] {
                    weft::dump(ends[1], {.grouped = false});
                    close(ends[1]);
                });
                pollfd full{ends[1], POLLOUT, 0};
                eventually([&] { return poll(&full, 1, 0) == 0; });
                return 7;
            });
            char buffer[4096];
            while (read(ends[0], buffer, sizeof(buffer)) > 0) {}
            dumping.join();
            std::_Exit(code);
        },
        ::testing::ExitedWithCode(7), "^$");
}

}  // namespace
}  // namespace weft::test
