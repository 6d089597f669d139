// cancel_points_test.cc: which calls a deadline or a cancellation around them ends: calls that wait
// for an event. Calls that lock, join, or need not wait are not interrupted.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "conformance/cancellation_points.h"
#include "support/eventually.h"
#include "support/interruption.h"
#include "support/procs_test.h"

namespace weft::test {
namespace {

using CancelPoints = procs_test;
WEFT_SWEEP(CancelPoints);

// Runs check once for each point, names it in failures, and ensures that nothing is left over.
template <typename F>
void at_each_point(runtime& rt, F check) {
    for (const point& p : points()) {
        SCOPED_TRACE(p.name);
        check(p);
        rt.drain();
    }
}

TEST_P(CancelPoints, ACancelledFutureEndsTheWait) {
    at_each_point(rt(), [&](const point& p) {
        std::optional<future<ending>> f;
        park(1, [&] { f = rt().async([&] { return ending_of(p.wait); }); });
        f->cancel();
        EXPECT_EQ(f->get(), ending::cancelled);
    });
}

TEST_P(CancelPoints, ADeadlineAroundItEndsTheWait) {
    at_each_point(rt(), [&](const point& p) {
        EXPECT_EQ(rt().run([&] { return ending_of([&] { with_timeout(200us, p.wait); }); }), ending::timed_out);
    });
}

TEST_P(CancelPoints, AStopTokenEndsTheWait) {
    at_each_point(rt(), [&](const point& p) {
        std::stop_source source;
        std::optional<future<ending>> f;
        park(1,
             [&] { f = rt().async([&] { return ending_of([&] { with_stop_token(source.get_token(), p.wait); }); }); });
        source.request_stop();
        EXPECT_EQ(f->get(), ending::cancelled);
    });
}

TEST_P(CancelPoints, ACancelledScopeEndsTheWaitsOfItsGreenThreads) {
    at_each_point(rt(), [&](const point& p) {
        std::atomic<int> cancelled_waits = 0;
        rt().run([&] {
            scope([&](task_scope& s) {
                const auto wait = [&] { cancelled_waits += ending_of(p.wait) == ending::cancelled; };
                s.go(wait);
                s.go(wait);
                weft::yield();
                s.cancel();
                wait();
            });
        });
        EXPECT_EQ(cancelled_waits, 3);
    });
}

TEST_P(CancelPoints, AWaitBegunAfterCancellationEndsAtOnce) {
    std::stop_source stopped;
    stopped.request_stop();
    at_each_point(rt(), [&](const point& p) {
        rt().run([&] {
            const auto twice = [&] { return std::pair(ending_of(p.wait), ending_of(p.wait)); };
            const auto none = std::pair(ending::served, ending::served);
            auto ends = none;
            with_timeout(0s, [&] { ends = twice(); });
            EXPECT_EQ(ends, std::pair(ending::timed_out, ending::timed_out));
            with_timeout(-1h, [&] { ends = twice(); });
            EXPECT_EQ(ends, std::pair(ending::timed_out, ending::timed_out));
            with_stop_token(stopped.get_token(), [&] { ends = twice(); });
            EXPECT_EQ(ends, std::pair(ending::cancelled, ending::cancelled));
        });
    });
}

TEST_P(CancelPoints, APlainThreadIsInterrupted) {
    at_each_point(rt(), [&](const point& p) {
        EXPECT_EQ(ending_of([&] { with_timeout(200us, p.wait); }), ending::timed_out);
        std::stop_source source;
        std::atomic<bool> begun = false;
        std::optional<ending> e;
        std::thread other([&] {
            e = ending_of([&] {
                with_stop_token(source.get_token(), [&] {
                    begun = true;
                    p.wait();
                });
            });
        });
        eventually([&] { return begun.load(); });
        source.request_stop();
        other.join();
        EXPECT_EQ(e, ending::cancelled);
    });
    eventually([] { return stats().live == 0; });  // green threads of the default runtime, started by plain threads
}

// ---- Not interrupted: calls that need not wait.

TEST_P(CancelPoints, OperationsThatNeedNotWaitSucceedWhenCancelled) {
    std::stop_source stopped;
    stopped.request_stop();
    rt().run([&] {
        auto done = async([] { return 5; });
        done.wait();
        with_stop_token(stopped.get_token(), [&] {
            const chan<int> c(2);
            c.send(1);
            EXPECT_EQ(c.send_for(2, 1h), chan_status::ok);
            EXPECT_EQ(c.try_send(3), chan_status::would_block);
            EXPECT_EQ(c.recv(), 1);
            EXPECT_EQ(c.recv_for(1h).value, 2);
            EXPECT_EQ(c.try_recv().status, chan_status::would_block);
            EXPECT_EQ(select(recv_case(c), send_case(c, 4)).index(), 1U);
            EXPECT_EQ(select(recv_case(c), otherwise()).index(), 0U);
            EXPECT_EQ(select(recv_case(c), otherwise()).index(), 1U);
            select_set set;
            set.add_recv(c, [](auto) {});
            EXPECT_EQ(set.try_wait(), std::nullopt);
            c.send(5);
            EXPECT_EQ(set.wait(), 0U);
            c.close();
            EXPECT_EQ(c.recv(), std::nullopt);
            EXPECT_THROW(c.send(1), channel_closed);
            EXPECT_EQ(set.wait(), 0U);
            sleep_for(0s);
            sleep_for(-1s);
            EXPECT_EQ(select(ready_case(done)).index(), 0U);
            EXPECT_EQ(done.wait_for(1h), std::future_status::ready);
            done.wait();
            EXPECT_EQ(done.get(), 5);
            weft::yield();
            checkpoint();
            EXPECT_THROW(sleep_for(1ns), cancelled);
            EXPECT_THROW(sleep_until(steady_clock::now() - 1s), cancelled) << "who is always late is stopped, too";
        });
    });
}

// A wait of zero duration does not wait.
TEST_P(CancelPoints, AZeroTimeoutReportsTimeoutEvenWhenCancelled) {
    std::stop_source stopped;
    stopped.request_stop();
    rt().run([&] {
        with_pending_future([&](future<void>& f) {
            with_stop_token(stopped.get_token(), [&] {
                const chan<int> c;
                EXPECT_EQ(c.recv_for(0s).status, chan_status::timed_out);
                EXPECT_EQ(c.send_for(1, -1h), chan_status::timed_out);
                EXPECT_EQ(chan<int>::nil().recv_for(0s).status, chan_status::timed_out);
                EXPECT_EQ(select(recv_case(c), timeout_case(0s)).index(), 1U);
                EXPECT_EQ(f.wait_for(0s), std::future_status::timeout);
                select_set set;
                set.add_recv(c, [](auto) {});
                EXPECT_EQ(set.wait_for(0s), std::nullopt);
            });
        });
    });
}

TEST_P(CancelPoints, WaitingPeersServeACancelledCaller) {
    const chan<int> c;
    std::stop_source stopped;
    stopped.request_stop();
    std::atomic<int> got = 0;
    park(1, [&] { rt().go([&] { got = c.recv().value_or(-1); }); });
    rt().run([&] { with_stop_token(stopped.get_token(), [&] { c.send(7); }); });
    rt().drain();
    EXPECT_EQ(got, 7);
    park(1, [&] { rt().go([&] { c.send(8); }); });
    EXPECT_EQ(rt().run([&] { return with_stop_token(stopped.get_token(), [&] { return c.recv(); }); }), 8);
}

// ---- Not interrupted: calls that lock, and calls that join.

// A G cancelled inside wait() keeps waiting until release() is called, and then gets what it waited
// for.
template <typename Wait, typename Release>
void expect_not_interrupted(runtime& rt, Wait wait, Release release) {
    std::stop_source source;
    std::atomic<bool> there = false;
    const uint64_t parks = rt.stats().parks;
    auto f = rt.async([&] {
        with_timeout(100us, [&] {
            with_stop_token(source.get_token(), [&] {
                wait();
                there = true;
            });
        });
    });
    eventually([&] { return rt.stats().parks > parks; });
    source.request_stop();
    f.cancel();
    for (int i = 0; i < 20; ++i) rt.run([] { weft::yield(); });
    EXPECT_FALSE(there);
    EXPECT_FALSE(f.is_ready());
    release();
    f.get();
    EXPECT_TRUE(there);
}

TEST_P(CancelPoints, LockingAMutexIsNotInterrupted) {
    mutex m;
    m.lock();
    expect_not_interrupted(
        rt(),
        [&] {
            m.lock();
            EXPECT_FALSE(m.try_lock());
            m.unlock();
        },
        [&] { m.unlock(); });
}

TEST_P(CancelPoints, LockingASharedMutexIsNotInterrupted) {
    shared_mutex m;
    m.lock();
    expect_not_interrupted(
        rt(),
        [&] {
            m.lock_shared();
            m.unlock_shared();
        },
        [&] { m.unlock(); });
    m.lock_shared();
    expect_not_interrupted(
        rt(),
        [&] {
            m.lock();
            m.unlock();
        },
        [&] { m.unlock_shared(); });
}

TEST_P(CancelPoints, LockingARecursiveMutexIsNotInterrupted) {
    recursive_mutex m;
    m.lock();
    expect_not_interrupted(
        rt(),
        [&] {
            m.lock();
            m.unlock();
        },
        [&] { m.unlock(); });
}

TEST_P(CancelPoints, WaitingForALatchIsNotInterrupted) {
    latch l(1);
    expect_not_interrupted(rt(), [&] { l.wait(); }, [&] { l.count_down(); });
}

TEST_P(CancelPoints, ArrivingAtABarrierIsNotInterrupted) {
    barrier<> b(2);
    expect_not_interrupted(rt(), [&] { b.arrive_and_wait(); }, [&] { static_cast<void>(b.arrive()); });
}

// Waiting for the condition is a cancellation point. Locking again afterwards is not: when the wait
// ends, the lock is held in every case.
TEST_P(CancelPoints, RelockingAfterAConditionWaitIsNotInterrupted) {
    mutex m;
    condition_variable changed;
    std::optional<future<bool>> f;
    park(1, [&] {
        f = rt().async([&] {
            std::unique_lock hold(m);
            const ending e = ending_of([&] { changed.wait(hold, [] { return false; }); });
            return e == ending::cancelled && hold.owns_lock() && !m.try_lock();
        });
    });
    m.lock();
    park(1, [&] { f->cancel(); });  // it waits for the mutex now
    EXPECT_FALSE(f->is_ready());
    m.unlock();
    EXPECT_TRUE(f->get());
}

TEST_P(CancelPoints, WaitingForAGroupIsNotInterrupted) {
    wait_group work;
    work.add();
    expect_not_interrupted(rt(), [&] { work.wait(); }, [&] { work.done(); });
}

TEST_P(CancelPoints, TheJoinOfAScopeIsNotInterrupted) {
    const chan<int> gate;
    expect_not_interrupted(
        rt(), [&] { scope([&](task_scope& s) { s.go([&] { shield([&] { gate.recv(); }); }); }); },
        [&] { gate.close(); });
}

// run() returns only when its function has: the function may refer to the caller's frame.
TEST_P(CancelPoints, RunOnAnotherRuntimeIsNotInterrupted) {
    const chan<int> gate;
    runtime other({.procs = 1});
    expect_not_interrupted(rt(), [&] { other.run([&] { gate.recv(); }); }, [&] { gate.close(); });
}

TEST_P(CancelPoints, DrainingARuntimeIsNotInterrupted) {
    const chan<int> gate;
    runtime other({.procs = 1});
    other.go([&] { gate.recv(); });
    expect_not_interrupted(rt(), [&] { other.drain(); }, [&] { gate.close(); });
}

}  // namespace
}  // namespace weft::test
