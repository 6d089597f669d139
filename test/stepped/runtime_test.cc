// runtime_test.cc: the runtime in chosen orders of its threads.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <weft/net/unix.h>
#include <weft/weft.h>

#include "runtimes.h"

namespace {

using namespace std::chrono_literals;

using stepped::passes;
using stepped::passes_in_runtime;
using stepped::promptly;
using stepped::with_procs;

TEST(SteppedRuntime, StartsAndEnds) {
    passes([] { const weft::runtime rt(with_procs(2)); });
}

TEST(SteppedRuntime, AnEmptyGreenThread) {
    passes([] {
        weft::runtime rt(with_procs(2));
        const promptly in_time(2'000'000);
        rt.run([] {});
    });
}

TEST(SteppedRuntime, MessagesBetweenGreenThreads) {
    passes([] {
        weft::runtime rt(with_procs(2));
        const promptly in_time(3'000'000);
        rt.run([] {
            weft::chan<int> there;
            weft::chan<int> back;
            weft::scope([&](weft::task_scope& s) {
                s.go([&] {
                    for (int i = 0; i != 5; ++i) back.send(there.recv().value() + 1);
                });
                for (int i = 0; i != 5; ++i) {
                    there.send(i);
                    EXPECT_EQ(back.recv().value(), i + 1);
                }
            });
        });
    });
}

TEST(SteppedRuntime, ManyAreStarted) {
    passes([] {
        weft::runtime rt(with_procs(3));
        const promptly in_time(3'000'000);
        std::atomic<int> ran = 0;
        rt.run([&] {
            weft::scope([&](weft::task_scope& s) {
                for (int i = 0; i != 20; ++i) s.go([&] { ++ran; });
            });
        });
        EXPECT_EQ(ran, 20);
    });
}

TEST(SteppedRuntime, PlainThreadsStartGreenThreads) {
    passes([] {
        weft::runtime rt(with_procs(2));
        const promptly in_time(3'000'000);
        std::atomic<int> ran = 0;
        {
            stepped::thread a([&] { rt.run([&] { ++ran; }); });
            stepped::thread b([&] {
                rt.go([&] { ++ran; });
                rt.go([&] { ++ran; });
            });
        }
        rt.drain();
        EXPECT_EQ(ran, 3);
    });
}

TEST(SteppedRuntime, SleepsEndInTime) {
    passes([] {
        weft::runtime rt(with_procs(2));
        const promptly in_time(53'000'000);
        rt.run([] {
            weft::scope([](weft::task_scope& s) {
                s.go([] { weft::sleep_for(50ms); });
                s.go([] { weft::sleep_for(20ms); });
                weft::sleep_for(1ms);
            });
        });
    });
}

// The monitor takes the P from the thread that blocks, for the green thread that waits.
TEST(SteppedRuntime, APIsTakenFromACallThatBlocks) {
    passes([] {
        weft::runtime rt(with_procs(1));
        const promptly in_time(120'000'000);
        std::atomic<bool> other_ran = false;
        rt.run([&] {
            weft::scope([&](weft::task_scope& s) {
                s.go([&] { other_ran = true; });
                weft::blocking([&] { std::this_thread::sleep_for(100ms); });
                EXPECT_TRUE(other_ran);
            });
        });
    });
}

TEST(SteppedRuntime, AMutexBetweenPs) {
    passes([] {
        weft::runtime rt(with_procs(2));
        const promptly in_time(3'000'000);
        int n = 0;
        weft::mutex m;
        rt.run([&] {
            weft::scope([&](weft::task_scope& s) {
                for (int i = 0; i != 3; ++i) {
                    s.go([&] {
                        for (int k = 0; k != 3; ++k) {
                            const std::lock_guard lock(m);
                            const int seen = n;
                            weft::yield();
                            n = seen + 1;
                        }
                    });
                }
            });
        });
        EXPECT_EQ(n, 9);
    });
}

TEST(SteppedRuntime, BytesOfASocket) {
    passes([] {
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        weft::runtime rt(with_procs(2));
        const promptly in_time(5'000'000);
        rt.run([&] {
            weft::scope([&](weft::task_scope& s) {
                s.go([&] {
                    for (int i = 0; i != 3; ++i) {
                        weft::wait_fd(ends[0], weft::fd_events::readable);
                        char c = 0;
                        EXPECT_EQ(::read(ends[0], &c, 1), 1);
                        EXPECT_EQ(::write(ends[0], &c, 1), 1);
                    }
                });
                for (int i = 0; i != 3; ++i) {
                    EXPECT_EQ(::write(ends[1], "x", 1), 1);
                    weft::wait_fd(ends[1], weft::fd_events::readable);
                    char c = 0;
                    EXPECT_EQ(::read(ends[1], &c, 1), 1);
                }
            });
        });
    });
}

// A P that is retired moves its timers, while the sleeps are ended.
TEST(SteppedRuntime, ShutdownWhileTheNumberOfPsChanges) {
    passes([] {
        weft::runtime rt(with_procs(3));
        weft::chan<int> changed;
        for (int i = 0; i != 4; ++i) rt.go([] { weft::sleep_for(1h); });
        rt.go([&] { weft::shield([&] { changed.recv(); }); });
        stepped::thread other([&] {
            rt.set_max_procs(1);
            rt.set_max_procs(3);
            changed.send(0);
        });
        const weft::stop_outcome end = rt.shutdown(1s);
        EXPECT_EQ(end.abandoned, 0U);
    });
}

TEST(SteppedRuntime, TheNumberOfPsChanges) {
    passes([] {
        weft::runtime rt(with_procs(2));
        std::atomic<int> ran = 0;
        stepped::thread other([&] {
            for (const unsigned n : {1U, 3U, 2U}) rt.set_max_procs(n);
        });
        const promptly in_time(10'000'000);
        rt.run([&] {
            weft::scope([&](weft::task_scope& s) {
                for (int i = 0; i != 10; ++i) {
                    s.go([&] {
                        weft::yield();
                        ++ran;
                    });
                }
            });
        });
        EXPECT_EQ(ran, 10);
    });
}

TEST(SteppedRuntime, AbandonWhilePlainThreadsStartMore) {
    passes([] {
        weft::runtime rt(with_procs(2));
        stepped::thread other([&] {
            for (int i = 0; i != 3; ++i) static_cast<void>(rt.try_go([] { weft::yield(); }));
        });
        rt.go([] { weft::sleep_for(1h); });
        rt.abandon();
        rt.start();
        rt.run([] {});
    });
}

TEST(SteppedRuntime, DrainWaitsForAll) {
    passes([] {
        weft::runtime rt(with_procs(2));
        std::atomic<int> ran = 0;
        rt.go([&] {
            weft::sleep_for(1ms);
            weft::go([&] {
                weft::yield();
                ++ran;
            });
            ++ran;
        });
        rt.drain();
        EXPECT_EQ(ran, 2);
    });
}

TEST(SteppedRuntime, TwoCallsThatBlockAtOnce) {
    passes([] {
        weft::runtime rt(with_procs(2));
        const promptly in_time(150'000'000);
        std::atomic<int> ran = 0;
        rt.run([&] {
            weft::scope([&](weft::task_scope& s) {
                for (int i = 0; i != 2; ++i) s.go([] { weft::blocking([] { std::this_thread::sleep_for(100ms); }); });
                for (int i = 0; i != 4; ++i) {
                    s.go([&] {
                        weft::yield();
                        ++ran;
                    });
                }
                weft::sleep_for(60ms);
                EXPECT_EQ(ran, 4);
            });
        });
    });
}

// The second one waits in the queue of the P whose green thread does not return.
TEST(SteppedRuntime, AGreenThreadBehindOneThatComputes) {
    passes([] {
        weft::runtime rt(with_procs(2));
        const promptly in_time(40'000'000);
        std::atomic<bool> other_ran = false;
        rt.run([&] {
            weft::scope([&](weft::task_scope& s) {
                s.go([&] {
                    s.go([&] { other_ran = true; });
                    weft::detail::atomic<bool> unused{false};
                    while (!other_ran) static_cast<void>(unused.load(std::memory_order_relaxed));
                });
            });
        });
    });
}

// The other M may be about to sleep when the green thread is started. It scans a few times, for
// about 1 ms, before it sleeps until it is woken.
TEST(SteppedRuntime, AnIdleMTakesWhatOneThatComputesStarts) {
    passes([] {
        weft::runtime rt(with_procs(2));
        rt.run([] {
            for (int round = 0; round != 3; ++round) {
                for (unsigned left = stepped::choose(200); left != 0; --left) stepped::compute(10'000);
                const promptly in_time(1'000'000);
                weft::detail::atomic<bool> ran{false};
                weft::scope([&](weft::task_scope& s) {
                    s.go([&] { ran.store(true); });
                    while (!ran.load()) {}
                });
            }
        });
    });
}

using ends_of_stream = std::pair<weft::net::unix_stream, weft::net::unix_stream>;

void pass_bytes(ends_of_stream& ends) {
    weft::scope([&](weft::task_scope& s) {
        s.go([&] {
            char c = 0;
            for (int i = 0; i != 3; ++i) {
                EXPECT_EQ(ends.first.read({&c, 1}), 1U);
                ends.first.write_all({&c, 1});
            }
        });
        char c = 'x';
        for (int i = 0; i != 3; ++i) {
            ends.second.write_all({&c, 1});
            EXPECT_EQ(ends.second.read({&c, 1}), 1U);
        }
    });
}

// Two Ms wait in the poller, for events and for green threads of a plain thread.
TEST(SteppedRuntime, SeveralMsInThePoller) {
    passes([] {
        weft::runtime rt(with_procs(3));
        const promptly in_time(5'000'000);
        ends_of_stream one = weft::net::unix_stream::pair();
        ends_of_stream two = weft::net::unix_stream::pair();
        std::atomic<int> ran = 0;
        {
            stepped::thread plain([&] {
                for (int i = 0; i != 3; ++i) rt.go([&] { ++ran; });
            });
            rt.go([&] { pass_bytes(one); });
            rt.go([&] { pass_bytes(two); });
        }
        rt.drain();
        EXPECT_EQ(ran, 3);
    });
}

TEST(SteppedRuntime, PriorityClasses) {
    passes([] {
        weft::runtime rt(with_procs(2));
        const promptly in_time(10'000'000);
        std::atomic<int> ran = 0;
        rt.run([&] {
            weft::scope([&](weft::task_scope& s) {
                for (const weft::priority p : {weft::priority::low, weft::priority::high, weft::priority::normal}) {
                    s.go({.priority = p}, [&] {
                        weft::yield();
                        ++ran;
                    });
                }
            });
        });
        EXPECT_EQ(ran, 3);
    });
}

TEST(SteppedRuntime, AWaitForASocketThatIsClosed) {
    passes([] {
        weft::runtime rt(with_procs(2));
        const promptly in_time(5'000'000);
        rt.run([] {
            auto [a, b] = weft::net::unix_stream::pair();
            weft::scope([&](weft::task_scope& s) {
                s.go([&] {
                    char c = 0;
                    EXPECT_THROW(static_cast<void>(a.read_some({&c, 1})), std::system_error);
                });
                s.go([&] { a.close(); });
            });
        });
    });
}

TEST(SteppedRuntime, MemoryGoesBackWhenAllSleep) {
    passes(
        [] {
            weft::runtime_options o = with_procs(2);
            o.memory_idle = 1s;
            weft::runtime rt(o);
            rt.run([] {
                for (int round = 0; round != 2; ++round) {
                    weft::scope([](weft::task_scope& s) {
                        for (int i = 0; i != 10; ++i) s.go([] { weft::yield(); });
                    });
                    weft::sleep_for(5s);
                }
            });
        },
        {.schedules = 100});
}

TEST(SteppedRuntime, ASeedGivesTheSameSchedule) {
    const auto body = [] {
        weft::runtime rt(with_procs(2));
        rt.run([] {
            weft::scope([](weft::task_scope& s) {
                for (int i = 0; i != 5; ++i) s.go([] { weft::sleep_for(1ms); });
            });
        });
    };
    const stepped::result first = stepped::explore({.schedules = 20}, body);
    const stepped::result second = stepped::explore({.schedules = 20}, body);
    EXPECT_EQ(first.failing_seed, 0U) << first.report;
    EXPECT_EQ(first.steps, second.steps);
}

}  // namespace
