// deadlock_test.cc: a program all of whose green threads wait for ever ends with a report; other
// programs do not.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include <weft/net/tcp.h>
#include <weft/run.h>
#include <weft/weft.h>

#include "death/death.h"
#include "os/signals.h"
#include "sched/current.h"
#include "sched/scheduler.h"
#include "support/captured.h"
#include "support/eventually.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// ThreadSanitizer has a thread of its own, which the runtime must take for a possible waker.
void look_at_green_threads_only() {
    if (!weft::detail::os::can_ask)
        setenv("RUN_DEBUG", "deadlock=strict", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
}

// The number of processors of the programs below. Each program runs with several numbers.
unsigned procs = 0;

template <typename F>
void run_main(F&& body) {
    look_at_green_threads_only();
    std::_Exit(weft::main({.procs = procs}, body));
}

class Deadlock : public DeathTest {
protected:
    void SetUp() override {
        if (emulated) GTEST_SKIP() << "the emulator has a thread of its own, which might wake a green thread";
    }
};

#define EXPECT_DEADLOCK(statement, ...)                                                        \
    for (const unsigned n : {1U, 2U, 4U}) {                                                    \
        procs = n;                                                                             \
        EXPECT_EXIT(statement, ::testing::ExitedWithCode(weft::deadlock_exit_code),            \
                    says({fatal_line("all green threads are asleep: deadlock"), __VA_ARGS__})) \
            << n << " processors";                                                             \
    }

// The process exits with 0 and prints nothing.
#define EXPECT_NO_DEADLOCK(statement)                                                     \
    for (const unsigned n : {1U, 2U, 4U}) {                                               \
        procs = n;                                                                        \
        EXPECT_EXIT(statement, ::testing::ExitedWithCode(0), "^$") << n << " processors"; \
    }

// ---- Deadlocks.

TEST_F(Deadlock, ReportsTwoMutexesLockedInDifferentOrder) {
    EXPECT_DEADLOCK(run_main([] {
                        mutex a;
                        mutex b;
                        const chan<int> first;
                        const chan<int> second;
                        wait_group all;
                        all.go([&] {
                            a.lock();
                            first.send(1);
                            second.recv();
                            b.lock();
                        });
                        all.go([&] {
                            b.lock();
                            first.recv();
                            second.send(1);
                            a.lock();
                        });
                        all.wait();
                    }),
                    "weft: 3 of runtime \"weft\" wait, and no timer and no other thread can wake one:",
                    "weft:     green thread 1 \"main\": wait group at 0x%x; it has started green thread %s",
                    "weft: to see which green thread holds a mutex: RUN_DEBUG=lockowners=1");
}

TEST_F(Deadlock, ReportsTheHoldersOfMutexesWithLockOwners) {
    EXPECT_DEADLOCK(
        {
            setenv("RUN_DEBUG", "lockowners=1,deadlock=strict", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
            std::_Exit(weft::main({.procs = 1}, [] {
                mutex a;
                mutex b;
                wait_group all;
                all.go({.name = "ab"}, [&] {
                    a.lock();
                    yield();
                    b.lock();
                });
                all.go({.name = "ba"}, [&] {
                    b.lock();
                    yield();
                    a.lock();
                });
                all.wait();
            }));
        },
        "weft: a cycle: %d waits for %d, which waits for %d");
}

TEST_F(Deadlock, ReportsTheWriterOfASharedMutexWithLockOwners) {
    EXPECT_DEADLOCK(
        {
            setenv("RUN_DEBUG", "lockowners=1,deadlock=strict", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
            std::_Exit(weft::main({.procs = 1}, [] {
                shared_mutex a;
                shared_timed_mutex b;
                wait_group all;
                all.go({.name = "writes"}, [&] {
                    a.lock();
                    yield();
                    b.lock();
                });
                all.go({.name = "reads"}, [&] {
                    static_cast<void>(b.try_lock_for(1h));
                    yield();
                    a.lock_shared();
                });
                all.wait();
            }));
        },
        "weft:     green thread %d \"writes\": shared mutex lock at 0x%x, which green thread %d holds",
        "weft:     green thread %d \"reads\": shared mutex lock shared at 0x%x, which green thread %d holds",
        "weft: a cycle: %d waits for %d, which waits for %d");
}

TEST_F(Deadlock, ReportsTwoFuturesThatNeedEachOther) {
    EXPECT_DEADLOCK(run_main([] {
                        const chan<int> c;
                        future<void> second;
                        future<void> first = async({.name = "first"}, [&] {
                            c.recv();
                            second.get();
                        });
                        second = async({.name = "second"}, [&] { first.get(); });
                        c.send(1);
                        chan<int>::nil().recv();
                    }),
                    "weft:     green thread %d \"first\": future at 0x%x, which green thread %d must fulfil",
                    "weft:     green thread %d \"second\": future at 0x%x, which green thread %d must fulfil",
                    "weft: a cycle: %d waits for %d, which waits for %d");
}

TEST_F(Deadlock, ReportsACycleOfAFutureAndAMutex) {
    EXPECT_DEADLOCK(
        {
            setenv("RUN_DEBUG", "lockowners=1,deadlock=strict", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
            std::_Exit(weft::main({.procs = procs}, [] {
                runtime other({.procs = 1});
                other.run([] {});  // its 1
                mutex m;
                m.lock();
                other.async([&] { m.lock(); }).get();
            }));
        },
        "weft:     green thread 2: mutex lock at 0x%x, which green thread 1 of another runtime holds",
        "weft:     green thread 1 \"main\": future at 0x%x, which green thread 2 of another runtime must fulfil",
        "weft: a cycle: 1 waits for 2 of another runtime, which waits for 1");
}

TEST_F(Deadlock, ReportsAMutexLockedTwice) {
    EXPECT_DEADLOCK(
        {
            setenv("RUN_DEBUG", "lockowners=1,deadlock=strict", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
            std::_Exit(weft::main({.procs = procs}, [] {
                mutex m;
                m.lock();
                m.lock();
            }));
        },
        "weft:     green thread 1 \"main\": mutex lock at 0x%x, which green thread 1 holds itself",
        "weft: a cycle: 1 waits for 1");
}

TEST_F(Deadlock, ReportsAReceiveWithoutASender) {
    EXPECT_DEADLOCK(run_main([] { chan<int>().recv(); }), "weft:     green thread 1 \"main\": chan receive at 0x%x",
                    "green thread 1 \"main\" [chan receive%s, P%d]:",
                    "weft: the process ends with status 86; RUN_DEBUG=deadlock=0 turns the check off");
}

TEST_F(Deadlock, ReportsAGroupThatIsNeverDone) {
    EXPECT_DEADLOCK(
        run_main([] {
            wait_group group;
            group.add();
            group.wait();
        }),
        "weft:     green thread 1 \"main\": wait group at 0x%x; all green threads that it started have ended");
}

TEST_F(Deadlock, ReportsASelectWithoutCases) {
    EXPECT_DEADLOCK(run_main([] { select(); }), "weft:     green thread 1 \"main\": select (no cases)%s");
}

TEST_F(Deadlock, ReportsALatchThatIsNeverCountedDown) {
    EXPECT_DEADLOCK(run_main([] {
                        latch gate(1);
                        wait_group all;
                        for (int i = 0; i < 10; ++i) all.go([&] { gate.wait(); });
                        all.wait();
                    }),
                    "weft: 11 of runtime \"weft\" wait, and no timer and no other thread can wake one:");
}

TEST_F(Deadlock, IsReportedAfterMuchWork) {
    EXPECT_DEADLOCK(run_main([] {
                        wait_group all;
                        for (int i = 0; i < 100; ++i) {
                            all.go([] {
                                for (int k = 0; k < 100; ++k) yield();
                            });
                        }
                        all.wait();
                        blocking([] { usleep(30'000); });
                        std::thread([] {}).join();
                        sleep_for(1ms);
                        chan<int>::nil().recv();
                    }),
                    "weft:     green thread 1 \"main\": chan receive (nil chan)%s");
}

// The last event is the end of a pinned green thread that has lost its P: no M goes idle after it.
TEST_F(Deadlock, IsReportedWhenAPinnedGreenThreadEndsLast) {
    EXPECT_DEADLOCK(run_main([] {
                        go([] {
                            pin here;
                            here.keep();
                            ::usleep(100'000);  // an undeclared blocking call
                        });
                        go([] { chan<int>().recv(); });
                        chan<int>().recv();
                    }),
                    "weft:     green thread 1 \"main\": chan receive at 0x%x");
}

// Returns whether the monitor watches for a deadlock: deadlock_watch.h.
bool monitor_watches() {
    weft::detail::idle_state& idle = weft::detail::current_m()->home->idle;
    const weft::detail::idle_guard held(idle);
    return idle.monitor.watches_deadlock;
}

TEST_F(Deadlock, ReportsAServerWithoutClients) {
    EXPECT_DEADLOCK(run_main([] {
                        const chan<int> requests(1);
                        std::atomic<bool> enough{false};
                        std::thread client([&] {
                            while (!enough) {
                                static_cast<void>(requests.try_send(1));
                                std::this_thread::sleep_for(50us);  // a rate: Ms go idle between two requests
                            }
                        });
                        eventually([&] {
                            for (int i = 0; i < 100; ++i) requests.recv();
                            return monitor_watches();
                        });
                        enough = true;
                        blocking([&] { client.join(); });
                        static_cast<void>(requests.try_recv());
                        requests.recv();
                    }),
                    "weft:     green thread 1 \"main\": chan receive at 0x%x");
}

TEST_F(Deadlock, ReportsAPinnedGreenThread) {
    EXPECT_DEADLOCK(run_main([] {
                        const pin here;
                        go([] { chan<int>::nil().recv(); });
                        chan<int>::nil().recv();
                    }),
                    "weft: 2 of runtime \"weft\" wait, and no timer and no other thread can wake one:");
}

TEST_F(Deadlock, IsReportedInACProgram) {
    EXPECT_DEADLOCK(
        {
            look_at_green_threads_only();
            if (run_scheduler_init() != RUN_OK) std::_Exit(1);
            chan<int>::nil().recv();
        },
        "weft:     green thread 1 \"main\": chan receive (nil chan)%s");
}

TEST_F(Deadlock, StrictSearchIgnoresOtherThreads) {
    EXPECT_DEADLOCK(
        {
            setenv("RUN_DEBUG", "deadlock=strict", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
            std::_Exit(weft::main({.procs = procs}, [] {
                std::thread([] { pause(); }).detach();
                chan<int>::nil().recv();
            }));
        },
        "weft:     green thread 1 \"main\": chan receive (nil chan)%s");
}

// The other runtime is busy when main begins to wait, and for longer than main's own checks take.
TEST_F(Deadlock, IsReportedWhenAnotherRuntimeStopsWorking) {
    procs = 2;
    EXPECT_EXIT(run_main([] {
                    runtime other({.procs = 1, .name = "other"});
                    const chan<int> c;
                    other.go([c] {
                        sleep_for(16s);
                        chan<int>::nil().recv();
                        c.send(1);
                    });
                    c.recv();
                }),
                ::testing::ExitedWithCode(deadlock_exit_code),
                says({fatal_line("all green threads are asleep: deadlock"),
                      "weft:     green thread %d: chan receive (nil chan)%s"}));
}

TEST_F(Deadlock, IsReportedAfterAStragglerOfAnotherRuntimeEnds) {
    EXPECT_DEADLOCK(run_main([] {
                        std::atomic<bool> over = false;
                        runtime other({.procs = 1});
                        other.go([&over] {
                            while (!over) {}
                        });
                        blocking([&] { other.shutdown(1ms); });
                        over = true;
                        chan<int>::nil().recv();
                    }),
                    "weft:     green thread 1 \"main\": chan receive (nil chan)%s");
}

// ---- No deadlocks. Each program gets more time than the search takes.

constexpr auto long_enough = 200ms;

TEST_F(Deadlock, IsNotReportedIfAPlainThreadWillSend) {
    if (!weft::detail::os::can_ask) GTEST_SKIP() << "threads are not looked at then";
    EXPECT_NO_DEADLOCK(run_main([] {
        const chan<int> values;
        std::thread sender([values] {
            std::this_thread::sleep_for(long_enough);
            values.send(1);
        });
        values.recv();
        sender.join();
    }));
}

TEST_F(Deadlock, IsNotReportedBesideADetachedThread) {
    if (!weft::detail::os::can_ask) GTEST_SKIP() << "not looked at then";
    EXPECT_NO_DEADLOCK(run_main([] {
        const chan<int> values;
        std::thread([values] {
            std::this_thread::sleep_for(long_enough);
            values.send(1);
        }).detach();
        values.recv();
    }));
}

TEST_F(Deadlock, IsNotReportedIfATimerIsSet) {
    EXPECT_NO_DEADLOCK(run_main([] { sleep_for(long_enough); }));
}

TEST_F(Deadlock, IsNotReportedIfATimerStartsAGreenThread) {
    EXPECT_NO_DEADLOCK(run_main([] {
        const chan<int> values;
        const timer t = after_func(long_enough, [values] { values.send(1); });
        values.recv();
    }));
}

TEST_F(Deadlock, IsNotReportedIfAWaitHasADeadline) {
    EXPECT_NO_DEADLOCK(run_main([] {
        const chan<int> values;
        static_cast<void>(values.recv_for(long_enough));
    }));
}

// Starts a process that connects after a while. It uses system calls directly: under
// ThreadSanitizer no runtime can be started in it.
pid_t connects_later(const net::tcp_listener& listener) {
    const uint16_t port = listener.local_endpoint().port();
    const pid_t other = ::fork();
    if (other != 0) return other;
    std::this_thread::sleep_for(long_enough);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(port);
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    ::_exit(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : 1);
}

// The runtime cannot know what is at the other end of a socket.
TEST_F(Deadlock, IsNotReportedDuringAnAccept) {
    EXPECT_NO_DEADLOCK(run_main([] {
        net::tcp_listener listener(net::endpoint::loopback(0));
        const pid_t other = connects_later(listener);
        static_cast<void>(listener.accept());
        ::waitpid(other, nullptr, 0);
    }));
}

// The listener was added to the poller of a runtime in which no green thread waits by then.
TEST_F(Deadlock, IsNotReportedDuringAWaitInAnotherPoller) {
    EXPECT_NO_DEADLOCK(run_main([] {
        net::tcp_listener listener(net::endpoint::loopback(0));
        runtime another({.procs = 1});
        another.run([&] {
            listener.set_deadline(std::chrono::steady_clock::now() + 1ms);
            std::error_code ec;
            static_cast<void>(listener.accept(ec));
            listener.clear_deadline();
        });
        const pid_t other = connects_later(listener);
        static_cast<void>(listener.accept());
        ::waitpid(other, nullptr, 0);
    }));
}

TEST_F(Deadlock, IsReportedBesideAPollerWithoutWaiters) {
    EXPECT_DEADLOCK(run_main([] {
                        net::tcp_listener listener(net::endpoint::loopback(0));
                        listener.set_deadline(std::chrono::steady_clock::now() + 1ms);
                        std::error_code ec;
                        static_cast<void>(listener.accept(ec));
                        chan<int>().recv();
                    }),
                    "weft:     green thread 1 \"main\": chan receive at 0x%x");
}

TEST_F(Deadlock, IsNotReportedDuringABlockingCall) {
    EXPECT_NO_DEADLOCK(run_main([] {
        const chan<int> values;
        go([values] {
            blocking([] { std::this_thread::sleep_for(long_enough); });
            values.send(1);
        });
        values.recv();
    }));
}

TEST_F(Deadlock, IsNotReportedDuringAnUnannouncedSystemCall) {
    EXPECT_NO_DEADLOCK(run_main([] {
        const chan<int> values;
        go([values] {
            std::this_thread::sleep_for(long_enough);
            values.send(1);
        });
        values.recv();
    }));
}

TEST_F(Deadlock, IsNotReportedWhileAGreenThreadComputes) {
    EXPECT_NO_DEADLOCK(run_main([] {
        const chan<int> values;
        go([values] {
            const auto end = std::chrono::steady_clock::now() + long_enough;
            while (std::chrono::steady_clock::now() < end) {}
            values.send(1);
        });
        values.recv();
    }));
}

TEST_F(Deadlock, IsNotReportedIfAnotherRuntimeWillSend) {
    EXPECT_NO_DEADLOCK(run_main([] {
        const chan<int> values;
        runtime other({.procs = 1});
        other.go([values] {
            sleep_for(long_enough);
            values.send(1);
        });
        values.recv();
        blocking([&] { other.abandon(); });
    }));
}

TEST_F(Deadlock, IsNotReportedWhileAnExternalWakerExists) {
    EXPECT_NO_DEADLOCK({
        setenv("RUN_DEBUG", "deadlock=strict", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
        std::_Exit(weft::main({.procs = procs}, [] {
            const chan<int> values;
            std::thread([values, token = std::make_shared<external_waker>()] {
                std::this_thread::sleep_for(long_enough);
                values.send(1);
            }).detach();
            values.recv();
        }));
    });
}

TEST_F(Deadlock, IsNotReportedIfDisabled) {
    EXPECT_NO_DEADLOCK({
        setenv("RUN_DEBUG", "deadlock=strict,deadlock=0", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
        std::thread([] {
            std::this_thread::sleep_for(long_enough);
            std::_Exit(0);
        }).detach();
        weft::main({.procs = procs}, [] { chan<int>::nil().recv(); });
    });
}

// Any code with access to a runtime object may wait for it.
TEST_F(Deadlock, IsReportedOnDemandForARuntimeObject) {
    runtime rt({.procs = 2});
    const chan<int> values;
    EXPECT_FALSE(rt.report_deadlock(STDERR_FILENO)) << "nobody waits";
    rt.go({.name = "stuck"}, [values] { values.recv(); });
    const std::string text = written_by([&](int fd) { eventually([&] { return rt.report_deadlock(fd); }); });
    EXPECT_NE(text.find("weft: all green threads are asleep: deadlock\n"), std::string::npos);
    EXPECT_NE(text.find("\"stuck\": chan receive at 0x"), std::string::npos) << text;
    values.send(1);
    rt.drain();
    EXPECT_FALSE(rt.report_deadlock(STDERR_FILENO)) << "nobody waits any more";
}

// The object that a green thread waited for may be gone when the report is written. A sanitizer
// complains if the report reads any of it.
TEST_F(Deadlock, IsReportedWhileAnotherThreadEndsIt) {
    constexpr int count = 90;    // fewer than a report lists
    constexpr int reports = 10;  // that have been read
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ::fcntl(ends[1], F_SETPIPE_SZ, 4096);  // so that a report is still being written when its beginning is read
    std::atomic<bool> over = false;
    std::atomic<int> read = 0;
    counting_semaphore<> units(0);
    runtime rt({.procs = 2});
    for (int i = 0; i < count; ++i) {
        rt.go([&] {
            while (!over) {
                async([&] {
                    units.acquire();
                    return std::make_unique<int>();
                }).get();
            }
        });
    }
    std::thread reporter([&] {
        while (!over) {
            if (rt.report_deadlock(ends[1])) static_cast<void>(::write(ends[1], "\f", 1));
        }
        ::close(ends[1]);
    });
    char text[512];
    for (ssize_t n = 0; (n = ::read(ends[0], text, sizeof(text))) > 0;) {
        units.release(count / 8);
        read += static_cast<int>(std::count(text, text + n, '\f'));
        if (read >= reports) over = true;
    }
    reporter.join();
    ::close(ends[0]);
    units.release(count);
    rt.drain();
    EXPECT_GE(read, reports);
}

}  // namespace
}  // namespace weft::test
