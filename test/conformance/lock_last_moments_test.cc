// lock_last_moments_test.cc: a lock handed to a green thread that never runs again passes on to the
// next waiter.
//
// A runtime is stopped while one of its green threads waits for a lock, or has not run since it got
// the lock or was woken.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include <gtest/gtest.h>

#include <weft/once.h>
#include <weft/recursive_mutex.h>
#include <weft/shared_timed_mutex.h>
#include <weft/timed_mutex.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/stopping.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// A runtime with one processor. A G waits on it, and after occupy() no other G can run.
class Stopped : public ::testing::Test {
protected:
    // Starts f, which waits. No other G runs.
    template <typename F>
    void start_waiting(F&& f) {
        const uint64_t parks = rt.stats().parks;
        rt.go(std::forward<F>(f));
        eventually([&] { return rt.stats().parks == parks + 1; });
    }

    // From here on, a G that is made ready does not run.
    void occupy() {
        rt.go([this] {
            computes_ = true;
            compute_until_stopped();
        });
        eventually([&] { return computes_.load(); });
    }

    runtime rt{runtime_options{.procs = 1, .retake = false}};

private:
    std::atomic<bool> computes_{false};
};

using LocksOfStoppedRuntimes = Stopped;

template <typename Lock>
void expect_free(Lock& m) {
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

TEST_F(LocksOfStoppedRuntimes, ATimedMutexWithAWokenWaiterIsFree) {
    timed_mutex m;
    m.lock();
    start_waiting([&] { static_cast<void>(m.try_lock_for(1h)); });
    occupy();
    std::atomic<bool> got{false};
    m.unlock();  // wakes it
    m.lock();
    std::thread other([&] {
        m.lock();  // queued behind it: no other waiter is woken
        got = true;
        m.unlock();
    });
    EXPECT_EQ(rt.abandon(), 1U);
    m.unlock();
    other.join();
    EXPECT_TRUE(got);
    expect_free(m);
}

TEST_F(LocksOfStoppedRuntimes, ATimedMutexWithAQueuedWaiterIsFree) {
    timed_mutex m;
    m.lock();
    start_waiting([&] { static_cast<void>(m.try_lock_for(1h)); });
    EXPECT_EQ(rt.abandon(), 1U);
    m.unlock();
    expect_free(m);
}

TEST_F(LocksOfStoppedRuntimes, ARecursiveMutexWithAWokenWaiterIsFree) {
    recursive_mutex m;
    m.lock();
    start_waiting([&] { m.lock(); });
    occupy();
    m.unlock();
    EXPECT_EQ(rt.abandon(), 1U);
    expect_free(m);
}

TEST_F(LocksOfStoppedRuntimes, ASharedMutexWithAWokenReaderIsFree) {
    shared_mutex m;
    m.lock();
    start_waiting([&] { m.lock_shared(); });
    occupy();
    m.unlock();  // wakes it
    EXPECT_EQ(rt.abandon(), 1U);
    expect_free(m);
}

// It has waited long enough that it does not have to compete for the lock.
TEST_F(LocksOfStoppedRuntimes, ASharedMutexHandedToAReaderIsFree) {
    shared_mutex m;
    std::atomic<bool> computes{false};
    std::atomic<bool> over{false};
    m.lock();
    start_waiting([&] { m.lock_shared(); });
    rt.go([&] {
        computes = true;
        busily([&] { return over.load(); });
    });
    eventually([&] { return computes.load(); });
    m.unlock();  // wakes it, but it cannot run yet
    m.lock();
    compute_for(3ms);
    const uint64_t parks = rt.stats().parks;
    over = true;
    eventually([&] { return rt.stats().parks == parks + 1; });  // without success, and for too long
    occupy();
    m.unlock();  // lets it in
    EXPECT_FALSE(m.try_lock());
    EXPECT_EQ(rt.abandon(), 1U);
    expect_free(m);
}

TEST_F(LocksOfStoppedRuntimes, ASharedMutexHandedToAWriterIsFree) {
    shared_mutex m;
    m.lock_shared();
    start_waiting([&] { m.lock(); });
    occupy();
    m.unlock_shared();  // hands the lock to it
    EXPECT_FALSE(m.try_lock_shared());
    EXPECT_EQ(rt.abandon(), 1U);
    expect_free(m);
}

TEST_F(LocksOfStoppedRuntimes, ASharedMutexWithAWokenWriterIsFree) {
    shared_mutex m;
    m.lock();
    start_waiting([&] { m.lock(); });
    occupy();
    m.unlock();  // wakes it
    std::atomic<bool> got{false};
    m.lock_shared();
    std::thread other([&] {
        m.lock();
        got = true;
        m.unlock();
    });
    EXPECT_EQ(rt.abandon(), 1U);
    m.unlock_shared();
    other.join();
    EXPECT_TRUE(got);
    expect_free(m);
}

// It waits for a reader to leave, and keeps others out.
TEST_F(LocksOfStoppedRuntimes, ASharedMutexWithAWaitingWriterIsFree) {
    shared_mutex m;
    m.lock_shared();
    start_waiting([&] { m.lock(); });
    EXPECT_FALSE(m.try_lock_shared());
    std::thread other([&] {
        m.lock_shared();  // kept out until the writer is gone
        m.unlock_shared();
    });
    EXPECT_EQ(rt.abandon(), 1U);
    other.join();
    m.unlock_shared();
    expect_free(m);
}

TEST_F(LocksOfStoppedRuntimes, ASharedTimedMutexWithAWaitingWriterIsFree) {
    shared_timed_mutex m;
    m.lock_shared();
    start_waiting([&] { static_cast<void>(m.try_lock_for(1h)); });
    EXPECT_FALSE(m.try_lock_shared());
    EXPECT_EQ(rt.abandon(), 1U);
    EXPECT_TRUE(m.try_lock_shared());
    m.unlock_shared();
    m.unlock_shared();
    expect_free(m);
}

TEST_F(LocksOfStoppedRuntimes, ASharedTimedMutexHandedToAReaderIsFree) {
    shared_timed_mutex m;
    m.lock();
    start_waiting([&] { static_cast<void>(m.try_lock_shared_for(1h)); });
    occupy();
    m.unlock();
    EXPECT_EQ(rt.abandon(), 1U);
    expect_free(m);
}

// What an abandoned green thread holds stays locked, but may be destroyed.
TEST_F(LocksOfStoppedRuntimes, HeldLocksMayBeDestroyed) {
    auto alone = std::make_unique<shared_mutex>();
    auto shared = std::make_unique<shared_mutex>();
    auto recursive = std::make_unique<recursive_mutex>();
    auto flag = std::make_unique<once_flag>();
    start_waiting([&] {
        alone->lock();
        shared->lock_shared();
        recursive->lock();
        call_once(*flag, [] { chan<int>::nil().recv(); });
    });
    EXPECT_EQ(rt.abandon(), 1U);
    EXPECT_FALSE(alone->try_lock_shared());
    EXPECT_TRUE(shared->try_lock_shared());
    EXPECT_FALSE(recursive->try_lock());
    alone.reset();
    shared.reset();
    recursive.reset();
    flag.reset();
}

}  // namespace
}  // namespace weft::test
