// fork_test.cc: what the child of fork() may do if the parent's runtimes were busy.

#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include <weft/net/tcp.h>
#include <weft/weft.h>

#include "support/build.h"
#include "support/eventually.h"
#include "support/leaks.h"
#include "support/procs_test.h"
#include "support/scale.h"

extern char** environ;  // NOLINT: POSIX has it in no header

namespace weft::test {
namespace {

using namespace std::chrono_literals;

constexpr int fine = 42;

// Runs in_child in a child of the calling thread. Returns its exit status, or -1 if it was killed.
// A child that hangs is killed.
int status_of_child(auto in_child) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        in_child();
        ::_exit(fine);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Runtimes that the child creates work.
void use_fresh_runtimes() {
    runtime own({.procs = 2});
    const int n = own.run([] {
        const chan<int> c(2);
        wait_group all;
        for (int i = 0; i < 20; ++i) all.go([=] { c.send(i), sleep_for(100us); });
        int sum = 0;
        for (int i = 0; i < 20; ++i) sum += c.recv().value_or(1000);
        all.wait();
        return sum;
    });
    if (n != 190) ::_exit(1);
    if (own.abandon() != 0) ::_exit(2);
    std::atomic<bool> ran = false;
    go([&] { ran = true; });  // on the default runtime
    eventually([&] { return ran.load(); });
    if (weft::main({.procs = 2}, [] { return blocking([] { return 5; }); }) != 5) ::_exit(3);
}

class Fork : public procs_test {
protected:
    Fork() : procs_test(60s) {
        if (built_with_tsan || emulated) skip_ = true;
    }

    void SetUp() override {
        if (skip_)
            GTEST_SKIP()
                << "neither ThreadSanitizer nor QEMU knows processes that fork with threads and start some after that";
        leak_on_purpose();
    }

    // Gs that communicate, sleep, compute and block in calls, until stop_work().
    void start_work() {
        for (int i = 0; i < 4; ++i) {
            rt().go([this] {
                try {
                    while (!done_) c_.send(1), yield();
                } catch (const channel_closed&) {}  // during stop_work()
            });
            rt().go([this] {
                while (!done_) c_.recv(), yield();
            });
            rt().go([this] {
                while (!done_) sleep_for(50us);
            });
            rt().go([this] {
                while (!done_) blocking([] { std::this_thread::sleep_for(100us); });
            });
            rt().go([this] {
                while (!done_) compute_for(300us), yield();
            });
        }
        eventually([this] { return rt().stats().parks > 100; });
    }

    void stop_work() {
        done_ = true;
        c_.close();
        EXPECT_EQ(rt().shutdown(30s).stragglers, 0U);
    }

    std::atomic<bool> done_ = false;
    chan<int> c_;
    bool skip_ = false;
};

WEFT_SWEEP_OVER(Fork, 1U, 2U, 4U);

TEST_P(Fork, TheChildOfAPlainThreadMayUseNewRuntimes) {
    start_work();
    const int rounds = scaled(20);
    for (int i = 0; i < rounds; ++i) EXPECT_EQ(status_of_child([] { use_fresh_runtimes(); }), fine);
    EXPECT_TRUE(rt().running());
    stop_work();
}

TEST_P(Fork, TheChildOfAGreenThreadMayUseNewRuntimes) {
    start_work();
    const int rounds = scaled(20);
    for (int i = 0; i < rounds; ++i) {
        EXPECT_EQ(rt().run([] {
            return status_of_child([] {
                if (this_g::id() != 0) ::_exit(4);
                use_fresh_runtimes();
            });
        }),
                  fine);
    }
    stop_work();
}

TEST_P(Fork, AChildForkedInABlockingCallMayUseNewRuntimes) {
    start_work();
    EXPECT_EQ(rt().run([] { return blocking([] { return status_of_child([] { use_fresh_runtimes(); }); }); }), fine);
    // The child returns from the call to where the call began.
    const int status = rt().run([] {
        pid_t child = -1;
        blocking([&] { child = ::fork(); });
        if (child == 0) {
            if (this_g::id() != 0) ::_exit(4);
            use_fresh_runtimes();
            ::_exit(fine);
        }
        int result = 0;
        while (::waitpid(child, &result, 0) < 0) {}
        return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
    });
    EXPECT_EQ(status, fine);
    stop_work();
}

// The deadline around the call belonged to the parent's green thread.
TEST_P(Fork, ADeadlineAroundTheForkDoesNotReachTheChild) {
    const int status = rt().run([] {
        pid_t child = -1;
        with_timeout(1ms, [&] {
            blocking([&] {
                child = ::fork();
                std::this_thread::sleep_for(5ms);  // until the deadline has passed
            });
            if (child != 0) return;
            try {
                sleep_for(1ms);  // any wait: it would throw under the deadline
            } catch (...) {
                ::_exit(5);
            }
            ::_exit(fine);
        });
        int result = 0;
        while (::waitpid(child, &result, 0) < 0) {}
        return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
    });
    EXPECT_EQ(status, fine);
}

// The child has the descriptors, and its own poller. What it closes stays open in the parent.
TEST_P(Fork, SocketsOfTheParentAreUsedInTheChild) {
    net::tcp_listener listener(net::endpoint::loopback(0));
    net::tcp_stream near;
    net::tcp_stream far;
    char b[1];
    std::atomic<bool> connected = false;
    rt().go([&] {
        near = net::tcp_stream::connect(listener.local_endpoint());
        far = listener.accept();
        connected = true;
        char mine[1];
        EXPECT_EQ(far.read_some(mine), 1U);  // registers it with the poller
        EXPECT_EQ(mine[0], 'p');
    });
    eventually([&] { return connected && rt().stats().waiting == 1; });
    EXPECT_EQ(status_of_child([&] {
                  runtime own({.procs = 1});
                  own.run([&] {
                      wait_group one;
                      one.go([&] {
                          if (near.read_some(b) != 1 || b[0] != 'c') ::_exit(1);
                      });
                      while (own.stats().waiting == 0) yield();  // in the child's poller
                      far.write_all("c");
                      one.wait();
                      near.close();
                      if (!far.is_open()) ::_exit(2);
                      far.close();
                  });
              }),
              fine);
    near.write_all("p");
    rt().drain();
}

TEST_P(Fork, TheChildMayStopAndRestartTheParentsRuntime) {
    start_work();
    EXPECT_EQ(status_of_child([&] {
                  if (rt().running()) ::_exit(1);
                  if (rt().abandon() != 0) ::_exit(2);
                  if (rt().shutdown(1h).abandoned != 0) ::_exit(3);
                  rt().start();
                  if (rt().run([] { return 5; }) != 5) ::_exit(4);
                  if (rt().abandon() != 0) ::_exit(5);
              }),
              fine);
    EXPECT_EQ(status_of_child([&] {
                  auto* forgotten = new runtime();
                  if (status_of_child([&] { delete forgotten; }) != fine) ::_exit(6);
                  delete forgotten;
              }),
              fine);
    stop_work();
}

TEST_P(Fork, AChildMayExit) {
    start_work();
    EXPECT_EQ(status_of_child([] { std::exit(3); }), 3);
    EXPECT_EQ(rt().run([] { return status_of_child([] { std::exit(3); }); }), 3);
    stop_work();
}

TEST_P(Fork, AChildMayExecuteAnotherProgram) {
    start_work();
    EXPECT_EQ(rt().run([] { return status_of_child([] { ::execl("/bin/sh", "sh", "-c", "exit 7", nullptr); }); }), 7);
    EXPECT_EQ(rt().run([] { return WEXITSTATUS(std::system("exit 8")); }), 8);  // NOLINT: it is what is tested
    EXPECT_EQ(rt().run([] {
        char sh[] = "/bin/sh";
        char c[] = "-c";
        char what[] = "exit 9";
        char* arguments[] = {sh, c, what, nullptr};
        pid_t child = -1;
        if (::posix_spawn(&child, sh, nullptr, nullptr, arguments, environ) != 0) return -2;
        int status = 0;
        while (::waitpid(child, &status, 0) < 0) {}
        return WEXITSTATUS(status);
    }),
              9);
    stop_work();
}

TEST_P(Fork, TheChildOfAGreenThreadHasTheProgramsSignalMask) {
    sigset_t mine;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mine);
    EXPECT_EQ(rt().run([&] {
        return status_of_child([&] {
            sigset_t now;
            ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
            for (int s = 1; s < 32; ++s) {
                if (sigismember(&now, s) != sigismember(&mine, s)) ::_exit(1);
            }
        });
    }),
              fine);
}

TEST_P(Fork, AChildMayFork) {
    start_work();
    EXPECT_EQ(status_of_child([] {
                  runtime own({.procs = 2});
                  own.go([] { sleep_for(1h); });
                  if (own.run([] { return status_of_child([] { use_fresh_runtimes(); }); }) != fine) ::_exit(1);
                  if (own.abandon() != 1) ::_exit(2);
              }),
              fine);
    stop_work();
}

TEST_P(Fork, FreeObjectsOfTheParentWorkInTheChild) {
    mutex m;
    const chan<int> c(4);
    c.send(1);
    EXPECT_EQ(rt().run([&] {
        return status_of_child([&] {
            m.lock();
            m.unlock();
            if (c.recv() != 1) ::_exit(1);
            runtime own({.procs = 2});
            own.go([&] { c.send(2); });
            if (c.recv() != 2) ::_exit(2);
            own.drain();
        });
    }),
              fine);
}

}  // namespace
}  // namespace weft::test
