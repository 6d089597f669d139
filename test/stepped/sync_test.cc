// sync_test.cc: channels, select, locks and timers between Ps, in chosen orders of the threads.
#include <atomic>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "runtimes.h"

namespace {

using namespace std::chrono_literals;
using stepped::passes;
using stepped::passes_in_runtime;
using stepped::promptly;
using stepped::with_procs;

TEST(SteppedSync, SelectsOnTheSameChannels) {
    passes_in_runtime(2, [] {
        weft::chan<int> a;
        weft::chan<int> b;
        int sum = 0;
        weft::scope([&](weft::task_scope& s) {
            s.go([&] {
                for (int i = 0; i != 4; ++i) weft::select(weft::on_send(a, 1, [] {}), weft::on_send(b, 2, [] {}));
                a.close();
                b.close();
            });
            bool open = true;
            while (open) {
                weft::select(weft::on_recv(a, [&](std::optional<int> v) { open = v ? (++sum, true) : false; }),
                             weft::on_recv(b, [&](std::optional<int> v) { open = v ? (++sum, true) : false; }));
            }
        });
        EXPECT_EQ(sum, 4);
    });
}

TEST(SteppedSync, ASelectThatTimesOutWhileAValueComes) {
    passes([] {
        weft::runtime rt(with_procs(2));
        rt.run([] {
            weft::chan<int> c;
            bool received = false;
            bool sent = false;
            weft::scope([&](weft::task_scope& s) {
                s.go([&] {
                    weft::sleep_for(1ms);
                    weft::select(weft::on_send(c, 1, [&] { sent = true; }), weft::on_timeout(1ms, [] {}));
                });
                weft::select(weft::on_recv(c, [&](std::optional<int>) { received = true; }),
                             weft::on_timeout(1ms, [] {}));
            });
            EXPECT_EQ(received, sent);
        });
    });
}

TEST(SteppedSync, ABufferedChannelOfManyToMany) {
    passes_in_runtime(3, [] {
        weft::chan<int> c(2);
        std::atomic<int> sum = 0;
        weft::scope([&](weft::task_scope& s) {
            for (int k = 0; k != 2; ++k) {
                s.go([&] {
                    for (int i = 0; i != 3; ++i) sum += c.recv().value();
                });
                s.go([&] {
                    for (int i = 0; i != 3; ++i) c.send(1);
                });
            }
        });
        EXPECT_EQ(sum, 6);
    });
}

TEST(SteppedSync, ConditionVariables) {
    passes_in_runtime(2, [] {
        weft::mutex m;
        weft::condition_variable changed;
        int turn = 0;
        weft::scope([&](weft::task_scope& s) {
            for (int me = 0; me != 2; ++me) {
                s.go([&, me] {
                    for (int i = 0; i != 3; ++i) {
                        std::unique_lock lock(m);
                        changed.wait(lock, [&] { return turn % 2 == me; });
                        ++turn;
                        changed.notify_one();
                    }
                });
            }
        });
        EXPECT_EQ(turn, 6);
    });
}

TEST(SteppedSync, ReadersAndWriters) {
    passes_in_runtime(3, [] {
        weft::shared_mutex m;
        int n = 0;
        weft::scope([&](weft::task_scope& s) {
            for (int i = 0; i != 2; ++i) {
                s.go([&] {
                    for (int k = 0; k != 2; ++k) {
                        const std::unique_lock lock(m);
                        const int seen = n;
                        weft::yield();
                        n = seen + 1;
                    }
                });
                s.go([&] {
                    for (int k = 0; k != 2; ++k) {
                        const std::shared_lock lock(m);
                        const int seen = n;
                        weft::yield();
                        EXPECT_EQ(n, seen);
                    }
                });
            }
        });
        EXPECT_EQ(n, 4);
    });
}

TEST(SteppedSync, AMutexWithAPlainThread) {
    passes([] {
        weft::runtime rt(with_procs(1));
        weft::mutex m;
        int n = 0;
        const auto add = [&] {
            for (int i = 0; i != 3; ++i) {
                const std::lock_guard lock(m);
                const int seen = n;
                std::this_thread::yield();
                n = seen + 1;
            }
        };
        {
            stepped::thread plain(add);
            rt.run([&] {
                weft::scope([&](weft::task_scope& s) {
                    s.go(add);
                    s.go(add);
                });
            });
        }
        EXPECT_EQ(n, 9);
    });
}

TEST(SteppedSync, AScopeThatIsCancelledWhileItsThreadsWait) {
    passes_in_runtime(2, [] {
        weft::chan<int> never;
        weft::counting_semaphore<> none(0);
        std::atomic<int> ended = 0;
        weft::scope([&](weft::task_scope& s) {
            s.go([&] {
                try {
                    never.recv();
                } catch (const weft::cancelled&) {
                    ++ended;
                    throw;
                }
            });
            s.go([&] {
                try {
                    none.acquire();
                } catch (const weft::cancelled&) {
                    ++ended;
                    throw;
                }
            });
            s.go([&] { s.cancel(); });
        });
        // One that begins to wait when it is cancelled throws, too.
        EXPECT_EQ(ended, 2);
    });
}

TEST(SteppedSync, ADeadlineAndAValueAtOnce) {
    passes([] {
        weft::runtime rt(with_procs(2));
        rt.run([] {
            weft::chan<int> c;
            int received = 0;
            weft::scope([&](weft::task_scope& s) {
                s.go([&] {
                    try {
                        weft::with_timeout(1ms, [&] {
                            c.recv();
                            ++received;
                        });
                    } catch (const weft::timed_out&) {}
                });
                weft::sleep_for(1ms);
                if (c.try_send(1)) ++received;
            });
            EXPECT_TRUE(received == 0 || received == 2) << received;
        });
    });
}

TEST(SteppedSync, TimersThatAreStoppedAndResetWhileTheyFire) {
    passes([] {
        weft::runtime rt(with_procs(2));
        rt.run([] {
            std::atomic<int> calls = 0;
            weft::timer t = weft::after_func(1ms, [&] { ++calls; });
            weft::scope([&](weft::task_scope& s) {
                s.go([&] {
                    weft::sleep_for(1ms);
                    t.reset(1ms);
                });
                s.go([&] {
                    weft::sleep_for(2ms);
                    t.stop();
                });
            });
            weft::sleep_for(10ms);
            EXPECT_LE(calls, 2);
        });
    });
}

TEST(SteppedSync, FuturesAndWaitGroups) {
    passes_in_runtime(2, [] {
        weft::wait_group all;
        std::atomic<int> sum = 0;
        for (int i = 0; i != 3; ++i) {
            all.add(1);
            weft::go([&, i] {
                sum += i;
                all.done();
            });
        }
        auto later = weft::async([] { return 7; });
        EXPECT_EQ(later.get(), 7);
        all.wait();
        EXPECT_EQ(sum, 3);
    });
}

TEST(SteppedSync, OnceAndEvents) {
    passes_in_runtime(2, [] {
        weft::once_flag once;
        weft::event set;
        std::atomic<int> calls = 0;
        weft::scope([&](weft::task_scope& s) {
            for (int i = 0; i != 3; ++i) {
                s.go([&] {
                    weft::call_once(once, [&] { ++calls; });
                    EXPECT_EQ(calls, 1);
                    set.wait();
                });
            }
            s.go([&] { set.set(); });
        });
    });
}

}  // namespace
