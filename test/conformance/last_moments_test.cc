// last_moments_test.cc: other threads are active while a runtime stops, a group dies, or a dump is
// written.

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/scale.h"
#include "support/stopping.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// Its first move lasts until after a runtime was told to stop.
struct slow_to_move {
    const std::atomic<bool>* stopping = nullptr;
    std::atomic<bool>* moving = nullptr;

    slow_to_move() = default;

    slow_to_move(const std::atomic<bool>& stop, std::atomic<bool>& flag) : stopping(&stop), moving(&flag) {}

    slow_to_move(slow_to_move&& from) noexcept
        : stopping(std::exchange(from.stopping, nullptr)), moving(std::exchange(from.moving, nullptr)) {
        if (moving == nullptr || moving->exchange(true)) return;
        busily([&] { return stopping->load(); });
        // Longer than stop() takes to visit all green threads: nothing reports when it has reached
        // this one.
        std::this_thread::sleep_for(20ms);
    }

    slow_to_move& operator=(slow_to_move&& from) noexcept = default;
};

// The sender has taken the receiver off the queue, and is about to hand the value over.
TEST(LastMoments, StopWaitsForAThreadDuringAHandOff) {
    const chan<slow_to_move> c;
    std::atomic<bool> moving{false};
    runtime rt({.procs = 1});
    const std::atomic<bool>& stopping = stop_of(rt);
    rt.go([&c] { c.recv(); });
    eventually([&] { return rt.stats().parks == 1; });
    std::thread sender([&] { EXPECT_EQ(c.try_send(slow_to_move(stopping, moving)), chan_status::ok); });
    eventually([&] { return moving.load(); });
    EXPECT_EQ(rt.abandon(), 1U);
    sender.join();
}

// The group's last check of its waiters must not take an abandoned one for a waiting one.
TEST(LastMoments, AGroupWithAnAbandonedWaiterMayBeDestroyed) {
    auto group = std::make_unique<wait_group>();
    group->add();
    runtime rt({.procs = 1});
    rt.go([&] { group->wait(); });
    eventually([&] { return rt.stats().parks == 1; });
    EXPECT_EQ(rt.abandon(), 1U);
    group.reset();
}

TEST(LastMoments, EveryWaiterOfAGroupMayCallWaitAtOnce) {
    runtime rt({.procs = 2});
    rt.run([] {
        for (int round = 0; round < 200; ++round) {
            wait_group group;
            wait_group both;
            std::atomic<int> caught{0};
            group.go([] {
                yield();
                throw std::runtime_error("a message that is long enough to be allocated");
            });
            for (int i = 0; i < 2; ++i) {
                both.go([&] {
                    try {
                        group.wait();
                    } catch (const std::runtime_error&) {
                        ++caught;
                    }
                });
            }
            both.wait();
            EXPECT_EQ(caught, 1) << "the exception is thrown once";
        }
    });
}

// A G that was served and has not run since does not keep alive the object that served it.
TEST(LastMoments, AnObjectMayBeDestroyedBeforeItsWokenWaiterRuns) {
    runtime rt({.procs = 1, .retake = false});
    auto c = std::make_unique<chan<int>>();
    std::atomic<bool> computes{false};
    rt.go([&c = *c] { c.send(1); });
    eventually([&] { return rt.stats().parks == 1; });
    rt.go([&] {
        computes = true;
        compute_until_stopped();
    });
    eventually([&] { return computes.load(); });
    EXPECT_EQ(c->recv(), 1);
    c.reset();
    EXPECT_EQ(rt.abandon(), 1U);
}

// What an abandoned green thread has locked stays locked, but may be destroyed.
TEST(LastMoments, AMutexHeldByAnAbandonedHolderMayBeDestroyed) {
    mutex m;
    runtime rt({.procs = 1, .retake = false});
    rt.go([&] {
        m.lock();
        chan<int>::nil().recv();
    });
    eventually([&] { return rt.stats().parks == 1; });
    EXPECT_EQ(rt.abandon(), 1U);
    EXPECT_FALSE(m.try_lock());
}

// The same for a mutex owned by a closure that never runs.
TEST(LastMoments, AClosureMayOwnAMutexHeldByAnAbandonedHolder) {
    runtime rt({.procs = 1, .retake = false});
    std::atomic<bool> computes{false};
    rt.go([&] {
        auto owned = std::make_unique<mutex>();
        auto group = std::make_unique<wait_group>();
        owned->lock();
        group->add();
        go([owned = std::move(owned), group = std::move(group)] { owned->lock(); });
        computes = true;
        compute_until_stopped();
        chan<int>::nil().recv();
    });
    eventually([&] { return computes.load(); });
    EXPECT_EQ(rt.abandon(), 2U);
}

struct joined_state {
    chan<int> values;
    wait_group done;
};

// A closure that never ran owns what another green thread waits on.
TEST(LastMoments, AClosuresObjectsOutliveTheirAbandonedWaiters) {
    runtime rt({.procs = 1, .retake = false});
    std::atomic<bool> computes{false};
    rt.go([&] {
        auto state = std::make_unique<joined_state>();
        joined_state* raw = state.get();
        raw->done.add();
        const uint64_t parks = stats().parks;
        go([raw] { raw->values.recv(); });
        while (stats().parks == parks) yield();
        go([owned = std::move(state)] { owned->done.wait(); });
        computes = true;
        compute_until_stopped();
    });
    eventually([&] { return computes.load(); });
    EXPECT_EQ(rt.abandon(), 2U);
}

// A starving mutex is handed to a green thread that never runs again.
TEST(LastMoments, AMutexHandedToAnAbandonedGreenThreadIsFree) {
    mutex m;
    std::atomic<bool> computes{false};
    std::atomic<bool> over{false};
    runtime rt({.procs = 1, .retake = false});
    m.lock();
    rt.go([&] {
        m.lock();
        m.unlock();
    });
    eventually([&] { return rt.stats().parks == 1; });
    rt.go([&] {
        computes = true;
        busily([&] { return over.load(); });
    });
    eventually([&] { return computes.load(); });
    m.unlock();  // wakes the waiter, which cannot run yet
    m.lock();
    compute_for(3ms);  // longer than the millisecond after which a waiter starves
    over = true;
    eventually([&] { return rt.stats().parks == 2; });  // spurious, and too late: the mutex starves
    computes = false;
    rt.go([&] {
        computes = true;
        compute_until_stopped();
    });
    eventually([&] { return computes.load(); });
    m.unlock();  // hands it to the waiter
    EXPECT_EQ(rt.abandon(), 1U);
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

// ---- Dumps.

TEST(LastMoments, AGreenThreadInTheDumpMayReadTheDump) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    runtime rt({.procs = 1});
    const chan<int> gate;
    std::atomic<bool> over{false};
    std::atomic<long> read_bytes{0};
    for (int i = 0; i < 1000; ++i) rt.go([gate] { gate.recv(); });
    for (int i = 0; i < 20; ++i) {
        rt.go([&] {
            while (!over) yield();
        });
    }
    rt.go([&] {
        char buffer[4096];
        while (!over) {
            const ssize_t n = read(ends[0], buffer, sizeof(buffer));
            if (n > 0) read_bytes += n;
            yield();
        }
    });
    eventually([&] { return rt.stats().parks >= 1000; });
    rt.dump(ends[1], {.grouped = false, .names = false});
    EXPECT_GT(read_bytes, 65536) << "more than a pipe holds";
    over = true;
    gate.close();
    rt.drain();
    close(ends[0]);
    close(ends[1]);
}

TEST(LastMoments, TwoMayDumpAtOnce) {
    runtime rt({.procs = 2});
    std::atomic<bool> over{false};
    rt.go([&] {
        while (!over) {
            wait_group some;
            const chan<int> c;
            for (int i = 0; i < 20; ++i) some.go([c] { c.recv(); });
            yield();
            c.close();
            some.wait();
        }
    });
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const auto dump = [&] {
        for (int i = scaled(400); i > 0; --i) rt.dump(nowhere, {.names = false});
    };
    std::thread other(dump);
    dump();
    other.join();
    over = true;
    rt.drain();
    close(nowhere);
}

// ---- The end of a plain thread.

const chan<int> never_sent_to;

struct waits_at_the_end {
    std::atomic<bool>* waiting = nullptr;

    ~waits_at_the_end() {
        if (waiting == nullptr) return;
        *waiting = true;
        static_cast<void>(never_sent_to.recv_for(50ms));
    }
};

// A thread-local made before the thread's first wait is destroyed after the thread's wait state,
// which another thread must not get then.
TEST(LastMoments, ADestructorOfAThreadMayWait) {
    const chan<int> c;
    std::atomic<bool> in_destructor{false};
    std::thread ending([&] {
        thread_local waits_at_the_end last;
        last.waiting = &in_destructor;
        static_cast<void>(never_sent_to.recv_for(1ms));
    });
    eventually([&] { return in_destructor.load(); });
    std::optional<int> received;
    std::thread waiting([&] { received = c.recv(); });
    ending.join();  // its wait times out while the other thread waits
    c.send(7);
    waiting.join();
    EXPECT_EQ(received, 7);
}

}  // namespace
}  // namespace weft::test
