// lock_misuse_test.cc: misuse of a lock ends the process, with one line that names the mistake and
// the culprit.

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include <weft/once.h>
#include <weft/recursive_mutex.h>
#include <weft/shared_timed_mutex.h>
#include <weft/single_flight.h>
#include <weft/timed_mutex.h>
#include <weft/weft.h>

#include "death/culprit.h"
#include "death/death.h"
#include "support/spread.h"

namespace weft::test {
namespace {

class LockMisuse : public DeathTest {};

// ---- timed_mutex: it is a mutex.

TEST_F(LockMisuse, UnlockOfAnUnlockedTimedMutex) {
    EXPECT_ABORT(as_culprit([] {
                     timed_mutex m;
                     if (m.try_lock_for(std::chrono::hours(1))) m.unlock();
                     m.unlock();
                 }),
                 fatal_line("unlock of an unlocked weft::mutex; pair lock and unlock with std::lock_guard"), culprit);
}

TEST_F(LockMisuse, DestroyingATimedMutexThatIsWaitedFor) {
    EXPECT_ABORT(
        as_culprit([] {
            auto m = std::make_unique<timed_mutex>();
            m->lock();
            go([&m] { static_cast<void>(m->try_lock_for(std::chrono::hours(1))); });
            weft::yield();
            m.reset();
        }),
        fatal_line(
            "a weft::mutex was destroyed while it was locked or a thread waited for it; let its users finish first"),
        culprit);
}

// ---- recursive_mutex.

TEST_F(LockMisuse, UnlockOfAnUnlockedRecursiveMutex) {
    const auto unlock = [] {
        recursive_mutex m;
        m.lock();
        m.lock();
        m.unlock();
        m.unlock();
        m.unlock();
    };
    const std::string message =
        fatal_line("unlock of an unlocked weft::recursive_mutex; pair lock and unlock with std::lock_guard");
    EXPECT_ABORT(as_culprit(unlock), message, culprit);
    EXPECT_ABORT(as_plain_thread(unlock), message, plain_thread);
    EXPECT_ABORT(unlock(), message);
}

TEST_F(LockMisuse, UnlockOfARecursiveMutexOfAnotherHolder) {
    EXPECT_ABORT(
        {
            runtime rt({.procs = 1});
            rt.run([] {
                recursive_mutex m;
                m.lock();
                wait_group other;
                other.go({.name = "culprit"}, [&] { m.unlock(); });
                other.wait();
            });
        },
        fatal_line("unlock of a weft::recursive_mutex that is locked by green thread %d; unlock it in the thread that "
                   "locked it"),
        "weft: in green thread %d \"culprit\" (started by %d at %slock_misuse_test.cc:%d, in %s)");
    EXPECT_ABORT(
        {
            recursive_timed_mutex m;
            m.lock();
            as_culprit([&] { m.unlock(); });
        },
        fatal_line("unlock of a weft::recursive_mutex that is locked by a plain thread (tid %d); unlock it in the "
                   "thread that locked it"),
        culprit);
    EXPECT_ABORT(
        {
            recursive_mutex m;
            runtime rt({.procs = 1});
            rt.run([&] { m.lock(); });
            m.unlock();
        },
        fatal_line("unlock of a weft::recursive_mutex that is locked by green thread %d; unlock it in the thread that "
                   "locked it"),
        plain_thread);
}

TEST_F(LockMisuse, DestroyingALockedRecursiveMutex) {
    const auto destroy = [] {
        recursive_mutex m;
        m.lock();
    };
    const std::string message = fatal_line(
        "a weft::recursive_mutex was destroyed while it was locked or a thread waited for it; let its users finish "
        "first");
    EXPECT_ABORT(as_culprit(destroy), message, culprit);
    EXPECT_ABORT(as_plain_thread(destroy), message, plain_thread);
}

// ---- shared_mutex.

TEST_F(LockMisuse, UnlockOfASharedMutexThatIsNotLocked) {
    const auto unlock = [] {
        shared_mutex m;
        m.unlock();
    };
    const std::string message = fatal_line(
        "unlock of a weft::shared_mutex that is not locked exclusively; pair lock and unlock with std::lock_guard");
    EXPECT_ABORT(as_culprit(unlock), message, culprit);
    EXPECT_ABORT(as_plain_thread(unlock), message, plain_thread);
    EXPECT_ABORT(as_culprit([] {
                     shared_timed_mutex m;
                     m.lock_shared();
                     m.unlock();
                 }),
                 message, culprit);
}

TEST_F(LockMisuse, UnlockSharedOfAMutexThatIsNotLockedShared) {
    const auto unlock = [] {
        shared_mutex m;
        m.unlock_shared();
    };
    const std::string message = fatal_line(
        "unlock_shared of a weft::shared_mutex that is not locked shared; pair the calls with std::shared_lock");
    EXPECT_ABORT(as_culprit(unlock), message, culprit);
    EXPECT_ABORT(as_plain_thread(unlock), message, plain_thread);
    EXPECT_ABORT(as_culprit([] {
                     shared_mutex m;
                     m.lock();
                     m.unlock_shared();
                 }),
                 message, culprit);
    // With spread readers, the next writer detects it.
    EXPECT_ABORT(as_culprit([] {
                     shared_mutex m;
                     spread_for_test::spread(m);
                     m.unlock_shared();
                     m.lock();
                 }),
                 message, culprit);
}

TEST_F(LockMisuse, DestroyingASharedMutexThatIsLocked) {
    const std::string message = fatal_line(
        "a weft::shared_mutex was destroyed while it was locked or a thread waited for it; let its users finish first");
    const auto locked = [] {
        shared_mutex m;
        m.lock();
    };
    EXPECT_ABORT(as_culprit(locked), message, culprit);
    EXPECT_ABORT(as_plain_thread(locked), message, plain_thread);
    EXPECT_ABORT(as_culprit([] {
                     shared_timed_mutex m;
                     m.lock_shared();
                 }),
                 message, culprit);
    EXPECT_ABORT(as_culprit([] {
                     shared_mutex m;
                     spread_for_test::spread(m);
                     m.lock_shared();
                 }),
                 message, culprit);
}

TEST_F(LockMisuse, DestroyingASharedMutexThatIsWaitedFor) {
    EXPECT_ABORT(as_culprit([] {
                     auto m = std::make_unique<shared_mutex>();
                     m->lock_shared();
                     go([&m] { m->lock(); });
                     go([&m] { m->lock_shared(); });
                     weft::yield();
                     m.reset();
                 }),
                 fatal_line("a weft::shared_mutex was destroyed while it was locked or a thread waited for it; let its "
                            "users finish first"),
                 culprit);
}

// ---- once_flag.

TEST_F(LockMisuse, CallOnceWithinItself) {
    const auto recurse = [] {
        static once_flag flag;
        call_once(flag, [] { call_once(flag, [] {}); });
    };
    const std::string message = fatal_line(
        "weft::call_once was called by the function that it runs, which would wait for itself; remove the recursion");
    EXPECT_ABORT(as_culprit(recurse), message, culprit);
    EXPECT_ABORT(as_plain_thread(recurse), message, plain_thread);
}

TEST_F(LockMisuse, DestroyingAOnceFlagThatIsInUse) {
    EXPECT_ABORT(
        as_culprit([] {
            auto flag = std::make_unique<once_flag>();
            go([&] { call_once(*flag, [] { chan<int>::nil().recv(); }); });
            weft::yield();
            flag.reset();
        }),
        fatal_line(
            "a weft::once_flag was destroyed while weft::call_once ran a function with it; let the call return first"),
        culprit);
}

// ---- single_flight.

TEST_F(LockMisuse, ASingleFlightWithinItself) {
    EXPECT_ABORT(
        as_culprit([] {
            single_flight<int, int> flights;
            flights.do_(1, [&] { return flights.do_(1, [] { return 2; }); });
        }),
        fatal_line(
            "weft::single_flight::do_ was called by the function that it runs for the same key; remove the recursion"),
        culprit);
}

TEST_F(LockMisuse, DestroyingASingleFlightWithRunningCalls) {
    EXPECT_ABORT(
        as_culprit([] {
            auto flights = std::make_unique<single_flight<int, int>>();
            go([&] { flights->do_(1, [] { return chan<int>::nil().recv().value(); }); });
            weft::yield();
            flights.reset();
        }),
        fatal_line("a weft::single_flight was destroyed while 1 of its calls were running; let them return first"),
        culprit);
}

}  // namespace
}  // namespace weft::test
