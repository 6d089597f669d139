// pin_test.cc: green threads that stay on one OS thread, which runs nothing else.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/crossroads.h"
#include "support/eventually.h"
#include "support/leaks.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/stopping.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using Pin = procs_test;
WEFT_SWEEP(Pin);

// The OS thread, requested from the system each time.
[[gnu::noinline]] int os_thread() { return gettid(); }

// ---- Staying.

TEST_P(Pin, StaysOnItsThreadAcrossAllOperations) {
    std::atomic<int> moves = 0;
    rt().run([&] {
        const crossroads place;
        mutex contended;
        wait_group all;
        for (int who = 0; who < 12; ++who) {
            all.go([&, who] {
                const bool pins = who % 3 == 0;
                if (!pins) {
                    for (int i = 0; i < scaled(100); ++i) place.cross();
                    return;
                }
                const pin here;
                const int mine = os_thread();
                const auto check = [&] { moves += os_thread() != mine; };
                for (int i = 0; i < scaled(20); ++i) {
                    place.cross();
                    check();
                    weft::yield();
                    check();
                    sleep_for(10us);
                    check();
                    {
                        const std::lock_guard hold(contended);
                        weft::yield();
                    }
                    check();
                    EXPECT_EQ(async([] { return 5; }).get(), 5);
                    check();
                    wait_group children;
                    for (int c = 0; c < 3; ++c) children.go([] { weft::yield(); });
                    children.wait();
                    check();
                    const chan<int> never_sent;
                    EXPECT_EQ(never_sent.recv_for(5us).status, chan_status::timed_out);
                    check();
                    try {
                        throw std::runtime_error("kept across a park");
                    } catch (const std::runtime_error& e) {
                        weft::yield();
                        check();
                        EXPECT_EQ(std::string(e.what()), "kept across a park");
                    }
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(moves, 0);
}

TEST_P(Pin, NothingElseRunsOnThePinnedThread) {
    std::atomic<int> intruders = 0;
    rt().run([&] {
        const crossroads place;
        std::atomic<int> pinned_thread = 0;
        std::atomic<bool> over = false;
        wait_group all;
        wait_group pinned;
        pinned.go([&] {
            const pin here;
            pinned_thread = os_thread();
            for (int i = 0; i < scaled(200); ++i) {
                place.cross();
                weft::yield();
            }
            pinned_thread = 0;
        });
        for (int i = 0; i < 10; ++i) {
            all.go([&] {
                while (!over) {
                    const int mine = os_thread();
                    const int theirs = pinned_thread;
                    intruders += mine == theirs && theirs == pinned_thread;
                    place.cross();
                }
            });
        }
        pinned.wait();
        over = true;
        all.wait();
    });
    EXPECT_EQ(intruders, 0);
}

TEST_P(Pin, Nests) {
    rt().run([] {
        EXPECT_FALSE(this_g::pinned());
        {
            const pin outer;
            const int mine = os_thread();
            EXPECT_TRUE(this_g::pinned());
            for (int i = 0; i < 5; ++i) {
                const pin inner;
                weft::yield();
                EXPECT_TRUE(this_g::pinned());
                EXPECT_EQ(os_thread(), mine);
            }
            auto held = std::make_unique<pin>();
            auto second = std::make_unique<pin>();
            held.reset();
            EXPECT_TRUE(this_g::pinned());
            sleep_for(10us);
            EXPECT_EQ(os_thread(), mine);
        }
        EXPECT_FALSE(this_g::pinned());
    });
}

TEST_P(Pin, DoesNothingInAPlainThread) {
    pin here;
    EXPECT_FALSE(this_g::pinned());
    here.keep();
}

TEST_P(Pin, ChildrenAreNotPinned) {
    rt().run([] {
        const pin here;
        wait_group all;
        for (int i = 0; i < 20; ++i) {
            all.go([mine = os_thread()] {
                EXPECT_FALSE(this_g::pinned());
                EXPECT_NE(os_thread(), mine);
            });
        }
        all.wait();
        EXPECT_TRUE(this_g::pinned());
    });
}

TEST_P(Pin, IsFreeAgainAfterwards) {
    std::atomic<int> moved = 0;
    eventually([&] {
        rt().run([&] {
            const crossroads place;
            wait_group all;
            for (int i = 0; i < 8; ++i) {
                all.go([&] {
                    int mine = 0;
                    {
                        const pin here;
                        mine = os_thread();
                        place.cross();
                    }
                    for (int n = 0; n < 50; ++n) place.cross();
                    moved += os_thread() != mine;
                });
            }
            all.wait();
        });
        return moved > 0;  // with one P too: while one is pinned the P is elsewhere
    });
}

// ---- Others make progress.

TEST_P(Pin, YieldsLetOthersProgress) {
    const int turns = rt().run([] {
        const pin here;
        std::atomic<int> others = 0;
        std::atomic<bool> over = false;
        wait_group all;
        for (int i = 0; i < 3; ++i) {
            all.go([&] {
                while (!over) {
                    ++others;
                    weft::yield();
                }
            });
        }
        const int mine = os_thread();
        eventually([&] { return others > 100; });
        EXPECT_EQ(os_thread(), mine);
        over = true;
        all.wait();
        return others.load();
    });
    EXPECT_GT(turns, 100);
}

TEST_P(Pin, ResumesOnItsThreadAfterBlocking) {
    rt().run([] {
        const chan<int> ping;
        const chan<int> pong;
        wait_group all;
        all.go([=] {
            for (const int v : ping) pong.send(v + 1);
        });
        const pin here;
        const int mine = os_thread();
        for (int i = 0; i < scaled(500); ++i) {
            ping.send(i);
            EXPECT_EQ(pong.recv(), i + 1);
            EXPECT_EQ(os_thread(), mine);
        }
        ping.close();
        all.wait();
    });
}

TEST_P(Pin, PinnedGsCommunicateWithEachOther) {
    constexpr int n = 8;
    rt().run([] {
        std::vector<chan<int>> ring(n);
        std::set<int> threads;
        mutex guard;
        std::atomic<int> pinned = 0;
        wait_group all;
        for (std::size_t i = 0; i < n; ++i) {
            all.go([&, i] {
                const pin here;
                {
                    const std::lock_guard hold(guard);
                    threads.insert(os_thread());
                }
                ++pinned;
                const int laps = scaled(50);
                for (int lap = 0; lap < laps; ++lap) {
                    const int got = *ring[i].recv();
                    if (i + 1 < n || lap + 1 < laps) ring[(i + 1) % n].send(got + 1);
                }
            });
        }
        eventually([&] { return pinned == n; });  // otherwise the first to end would leave its thread to the last
        ring[0].send(0);
        all.wait();
        EXPECT_EQ(threads.size(), static_cast<std::size_t>(n)) << "each on a thread of its own";
    });
}

// Waiting pinned Gs hold no P.
TEST_P(Pin, WaitingPinnedGsHoldNoP) {
    constexpr unsigned waiting = 10;
    const chan<int> gate;
    park(waiting, [&] {
        for (unsigned i = 0; i < waiting; ++i) {
            rt().go([gate] {
                const pin here;
                const int mine = os_thread();
                gate.recv();
                EXPECT_EQ(os_thread(), mine);
            });
        }
    });
    rt().run([this] {
        std::atomic<unsigned> arrived = 0;
        wait_group all;
        for (unsigned p = 0; p < procs(); ++p) {
            all.go([&] {
                ++arrived;
                busily([&] { return arrived == procs(); });
            });
        }
        all.wait();
    });
    gate.close();
}

TEST_P(Pin, ManyPinnedGsAllFinish) {
    const int n = scaled(100);
    std::atomic<int> ended = 0;
    for (int i = 0; i < n; ++i) {
        rt().go([&, i] {
            const pin here;
            const int mine = os_thread();
            sleep_for(std::chrono::microseconds(i * 7 % 50));
            weft::yield();
            EXPECT_EQ(os_thread(), mine);
            ++ended;
        });
    }
    rt().drain();
    EXPECT_EQ(ended, n);
}

TEST_P(Pin, ASleeperAloneWakesOnTime) {
    rt().run([] {
        const pin here;
        for (int i = 0; i < 20; ++i) {
            const auto before = std::chrono::steady_clock::now();
            sleep_for(1ms);
            EXPECT_GE(std::chrono::steady_clock::now() - before, 1ms);
        }
    });
}

// ---- The main thread.

TEST(PinInMain, MainIsPinnedToTheMainThread) {
    for (const unsigned procs : {1U, 4U}) {
        const int main_thread = os_thread();
        std::atomic<bool> over = false;
        // Its green threads need Ms as soon as the runtime exists.
        std::thread other([&] {
            while (!over) {
                weft::go([] { weft::yield(); });
                std::this_thread::yield();
            }
        });
        const int code = weft::main({.procs = procs}, [&] {
            const pin here;
            EXPECT_EQ(os_thread(), main_thread);
            wait_group all;
            for (int i = 0; i < scaled(300); ++i) {
                all.go([] { weft::yield(); });
                if (i % 3 == 0) sleep_for(10us);
                weft::yield();
                EXPECT_EQ(os_thread(), main_thread);
            }
            all.wait();
            EXPECT_EQ(os_thread(), main_thread);
            over = true;
            other.join();  // blocks the main thread only
            return 17;
        });
        EXPECT_EQ(code, 17);
    }
}

TEST(PinInMain, MainMayEndPinned) {
    for (const unsigned procs : {1U, 4U}) {
        const int code = weft::main({.procs = procs}, [&] {
            pin here;
            here.keep();
            for (int i = 0; i < 10; ++i)
                go([] {
                    for (;;) weft::yield();
                });
            for (int i = 0; i < 10; ++i) weft::yield();
            return 18;
        });
        EXPECT_EQ(code, 18);
    }
}

TEST(PinInMain, MainMayBePinnedElsewhereAndEnd) {
    for (int i = 0; i < scaled(20); ++i) {
        const int code = weft::main({.procs = 2}, [&] {
            const crossroads place;
            wait_group all;
            all.go([&] {
                for (int n = 0; n < 20; ++n) place.cross();
            });
            for (int n = 0; n < 20; ++n) place.cross();  // wherever that leads
            pin here;
            here.keep();
            all.wait();
            return 19;
        });
        EXPECT_EQ(code, 19);
    }
}

// ---- Ending while pinned.

bool exists(int thread) { return access(("/proc/self/task/" + std::to_string(thread)).c_str(), F_OK) == 0; }

TEST_P(Pin, TheThreadOfAnEndedPinnedGIsNeverReused) {
    const int rounds = scaled(20);
    for (int round = 0; round < rounds; ++round) {
        std::atomic<int> gone = 0;
        rt().run([&] {
            wait_group one;
            one.go([&] {
                pin here;
                here.keep();
                if (round % 2 == 0) weft::yield();
                gone = os_thread();
            });
            one.wait();
            // The others are not left behind.
            std::atomic<int> ran = 0;
            wait_group all;
            for (int i = 0; i < 50; ++i) {
                all.go([&] {
                    EXPECT_NE(os_thread(), gone);
                    weft::yield();
                    ++ran;
                });
            }
            all.wait();
            EXPECT_EQ(ran, 50);
        });
        eventually([&] { return !exists(gone); });
    }
}

TEST_P(Pin, ManyEndPinnedAtOnce) {
    const int n = scaled(60);
    std::atomic<int> ended = 0;
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < n; ++i) {
            all.go([&, i] {
                pin here;
                here.keep();
                if (i % 3 == 0) sleep_for(10us);
                go([&] { ++ended; });
                if (i % 3 == 1) weft::yield();
                ++ended;
            });
        }
        all.wait();
    });
    rt().drain();
    EXPECT_EQ(ended, 2 * n);
    rt().run([] {});
}

TEST(PinInMain, TheMainThreadIsNotReusedAfterAPinnedGEnds) {
    for (const unsigned procs : {1U, 2U}) {
        const int main_thread = os_thread();
        std::atomic<int> intruders = 0;
        const int code = weft::main({.procs = procs}, [&] {
            // Repeats until one G runs on the main thread, and spoils it.
            std::atomic<bool> spoilt = false;
            while (!spoilt) {
                wait_group some;
                for (int i = 0; i < 4; ++i) {
                    some.go([&] {
                        if (os_thread() != main_thread || spoilt) return;
                        pin here;
                        here.keep();
                        spoilt = true;
                    });
                }
                some.wait();
            }
            wait_group all;
            for (int i = 0; i < 100; ++i) {
                all.go([&] {
                    weft::yield();
                    intruders += os_thread() == main_thread;
                });
            }
            all.wait();
            intruders += os_thread() == main_thread;
            return 20;
        });
        EXPECT_EQ(code, 20);
        EXPECT_EQ(intruders, 0);
        EXPECT_EQ(os_thread(), main_thread);
    }
}

// ---- New threads.

TEST_P(Pin, NewThreadsDoNotInheritAPinnedThreadsState) {
    const int before = getpriority(PRIO_PROCESS, 0);
    if (before >= 19) GTEST_SKIP() << "as nice as can be already";
    std::atomic<int> heirs = 0;
    rt().run([&] {
        pin here;
        here.keep();  // otherwise the niced thread would be reused
        if (setpriority(PRIO_PROCESS, static_cast<id_t>(os_thread()), before + 1) != 0)
            GTEST_SKIP() << "this system lets no thread be nicer";
        ASSERT_EQ(getpriority(PRIO_PROCESS, 0), before + 1) << "of a thread, on Linux";
        // As many at once as there are Ps: each on its own thread, most of them new.
        std::atomic<unsigned> arrived = 0;
        const unsigned others = std::min(procs(), 8U);
        wait_group all;
        for (unsigned i = 0; i + 1 < others; ++i) {
            all.go([&] {
                heirs += getpriority(PRIO_PROCESS, 0) != before;
                ++arrived;
                busily([&] { return arrived == others - 1; });
            });
        }
        all.go([&] { heirs += getpriority(PRIO_PROCESS, 0) != before; });
        all.wait();
    });
    EXPECT_EQ(heirs, 0);
}

TEST_P(Pin, ConcurrentFirstPinsStartThreadsSafely) {
    for (int round = 0; round < scaled(20); ++round) {
        runtime fresh({.procs = procs()});
        fresh.run([&] {
            wait_group all;
            for (int i = 0; i < 16; ++i) {
                all.go([] {
                    const pin here;
                    wait_group child;
                    child.go([] { weft::yield(); });
                    child.wait();
                });
            }
            all.wait();
        });
    }
}

// ---- Stopping.

TEST_P(Pin, StopAbandonsPinnedGsInEveryState) {
    leak_on_purpose();
    for (int round = 0; round < scaled(20); ++round) {
        runtime other({.procs = procs()});
        const chan<int> gate;
        std::atomic<unsigned> laid_out = 0;
        constexpr unsigned waiting = 4;
        for (unsigned i = 0; i < waiting; ++i) {
            other.go([&, gate] {
                const pin here;
                ++laid_out;
                gate.recv();
                ADD_FAILURE() << "woken";
            });
        }
        for (unsigned i = 0; i < 4; ++i) {
            other.go([&] {
                const pin here;
                ++laid_out;
                for (;;) weft::yield();  // queued, running, or handed over
            });
        }
        for (unsigned i = 0; i < 2; ++i) {
            other.go([&] {
                const pin here;
                ++laid_out;
                for (;;) sleep_for(std::chrono::microseconds(5));
            });
        }
        for (unsigned i = 0; i < 2; ++i) {
            other.go([&] {
                ++laid_out;
                for (;;) weft::yield();
            });
        }
        eventually([&] { return laid_out == waiting + 8; });
        EXPECT_EQ(other.abandon(), waiting + 8);
    }
}

TEST_P(Pin, StopAbandonsAComputingPinnedG) {
    runtime other({.procs = procs()});
    std::atomic<bool> runs = false;
    other.go([&] {
        const pin here;
        runs = true;
        compute_until_stopped();
        weft::yield();
        ADD_FAILURE() << "went on";
    });
    eventually([&] { return runs.load(); });
    EXPECT_EQ(other.abandon(), 1U);
}

TEST_P(Pin, ARuntimeRestartsAfterPinnedGs) {
    runtime other({.procs = procs()});
    for (int round = 0; round < 5; ++round) {
        other.run([] {
            pin here;
            if (this_g::id() % 2 == 0) here.keep();
            weft::yield();
        });
        other.abandon();
        other.start();
    }
}

}  // namespace
}  // namespace weft::test
