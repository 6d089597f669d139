// small_primitives_test.cc: misuse of condition variables, semaphores, latches, barriers and
// events.

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <weft/parallel.h>
#include <weft/weft.h>
#include <weft/weighted_semaphore.h>

#include "death/culprit.h"
#include "death/death.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class SmallPrimitives : public DeathTest {};

// Destroys an object while a green thread waits on it.
template <typename Object, typename Wait>
void destroy_while_waited_on(std::unique_ptr<Object> object, Wait wait) {
    const uint64_t parks = stats().parks;
    go([&waited_on = *object, &wait] { wait(waited_on); });
    while (stats().parks == parks) weft::yield();
    object.reset();
}

// ---- Condition variables.

TEST_F(SmallPrimitives, DestroyingAConditionVariableThatIsWaitedOn) {
    const std::string message =
        fatal_line("a weft::condition_variable was destroyed while a thread waited on it; call notify_all() first");
    EXPECT_ABORT(as_culprit([] {
                     mutex m;
                     destroy_while_waited_on(std::make_unique<condition_variable>(), [&](condition_variable& c) {
                         std::unique_lock lock(m);
                         c.wait(lock);
                     });
                 }),
                 message, culprit, frame_line);
    EXPECT_ABORT(as_culprit([] {
                     mutex m;
                     destroy_while_waited_on(std::make_unique<condition_variable_any>(), [&](auto& c) {
                         std::unique_lock lock(m);
                         (void)c.wait_for(lock, 1h);
                     });
                 }),
                 message, culprit, frame_line);
}

TEST_F(SmallPrimitives, WaitingWithALockThatDoesNotHoldItsMutex) {
    const auto wait_unlocked = [] {
        mutex m;
        condition_variable c;
        std::unique_lock lock(m, std::defer_lock);
        c.wait(lock);
    };
    const auto wait_without = [] {
        condition_variable c;
        std::unique_lock<mutex> lock;
        (void)c.wait_for(lock, 1ms);
    };
    const std::string message =
        fatal_line("wait on a weft::condition_variable with a lock that does not hold its mutex; lock it first");
    EXPECT_ABORT(as_culprit(wait_unlocked), message, culprit, frame_line);
    EXPECT_ABORT(as_plain_thread(wait_unlocked), message, plain_thread);
    EXPECT_ABORT(as_culprit(wait_without), message, culprit, frame_line);
}

TEST_F(SmallPrimitives, WaitingOnOneConditionVariableWithTwoMutexes) {
    EXPECT_ABORT(
        as_culprit([] {
            mutex one;
            mutex two;
            condition_variable c;
            const uint64_t parks = stats().parks;
            go([&] {
                std::unique_lock lock(one);
                c.wait(lock);
            });
            while (stats().parks == parks) weft::yield();
            std::unique_lock lock(two);
            c.wait(lock);
        }),
        fatal_line(
            "a weft::condition_variable was used with two mutexes at the same time; use one mutex for all its waiters"),
        culprit, frame_line);
}

// ---- Forks.

TEST_F(SmallPrimitives, JoiningAForkTwice) {
    EXPECT_ABORT(as_culprit([] {
                     forked call([] { return 1; });
                     static_cast<void>(call.join());
                     static_cast<void>(call.join());
                 }),
                 fatal_line("weft::forked::join() was called a second time; a fork is joined once, and returns its "
                            "result then"),
                 culprit, frame_line);
}

using pending_fork = forked<int (*)()>;

int one() { return 1; }

TEST_F(SmallPrimitives, AForkThatOutlivesItsGreenThread) {
    EXPECT_ABORT(as_culprit([] { static_cast<void>(std::make_unique<pending_fork>(&one).release()); }),
                 fatal_line("a weft::forked outlived its green thread; join it in the green thread that made it, and "
                            "do not suspend a coroutine between fork and join"),
                 culprit);
}

TEST_F(SmallPrimitives, JoiningAForkOfAnotherGreenThread) {
    EXPECT_ABORT(as_culprit([] {
                     pending_fork* others = nullptr;
                     go([&] {
                         pending_fork first(&one);
                         const pending_fork second(&one);
                         others = &first;
                         weft::yield();
                     });
                     weft::yield();
                     static_cast<void>(others->join());
                 }),
                 fatal_line("a weft::forked was joined or destroyed by another green thread than the one that made "
                            "it; do not suspend a coroutine between fork and join"),
                 culprit, frame_line);
}

// ---- Semaphores.

TEST_F(SmallPrimitives, DestroyingASemaphoreThatIsWaitedFor) {
    EXPECT_ABORT(
        as_culprit(
            [] { destroy_while_waited_on(std::make_unique<binary_semaphore>(0), [](auto& s) { s.acquire(); }); }),
        fatal_line(
            "a weft::counting_semaphore was destroyed while a thread waited for it; let its waiters return first"),
        culprit, frame_line);
}

TEST_F(SmallPrimitives, MakingASemaphoreWithTooManyUnits) {
    const auto negative = [] { const counting_semaphore<> s(-1); };
    EXPECT_ABORT(
        as_culprit(negative),
        fatal_line("a weft::counting_semaphore was constructed with -1 units; the number must be from 0 to 1073741823"),
        culprit, frame_line);
    EXPECT_ABORT(as_plain_thread([] { const binary_semaphore s(2); }),
                 fatal_line("a weft::counting_semaphore was constructed with 2 units; the number must be from 0 to 1"),
                 plain_thread);
}

TEST_F(SmallPrimitives, ReleasingMoreThanASemaphoreHolds) {
    const auto too_much = [] {
        binary_semaphore s(1);
        s.release();
    };
    const std::string message = fatal_line(
        "release(1) of a weft::counting_semaphore that holds 1 of 1 units; pair each release with an acquire");
    EXPECT_ABORT(as_culprit(too_much), message, culprit, frame_line);
    EXPECT_ABORT(as_plain_thread(too_much), message, plain_thread);
    EXPECT_ABORT(
        as_culprit([] {
            counting_semaphore<5> s(3);
            s.release(2);
            s.acquire();
            s.release(3);
        }),
        fatal_line(
            "release(3) of a weft::counting_semaphore that holds 4 of 5 units; pair each release with an acquire"),
        culprit);
    EXPECT_ABORT(as_culprit([] {
                     counting_semaphore<> s(0);
                     s.release(counting_semaphore<>::max());
                     s.release(std::ptrdiff_t{1} << 40);
                 }),
                 fatal_line("release(1099511627776) of a weft::counting_semaphore that holds 1073741823 of 1073741823 "
                            "units; pair each release with an acquire"),
                 culprit);
    EXPECT_ABORT(as_culprit([] {
                     counting_semaphore<> s(3);
                     s.release(-1);
                 }),
                 fatal_line("release(-1) of a weft::counting_semaphore that holds 3 of 1073741823 units; pair each "
                            "release with an acquire"),
                 culprit);
}

TEST_F(SmallPrimitives, MisuseOfAWeightedSemaphore) {
    EXPECT_ABORT(as_culprit([] {
                     auto s = std::make_unique<weighted_semaphore>(1);
                     s->acquire();
                     destroy_while_waited_on(std::move(s), [](auto& of) { of.acquire(); });
                 }),
                 fatal_line("a weft::weighted_semaphore was destroyed while a thread waited for it; let its waiters "
                            "return first"),
                 culprit, frame_line);
    const auto too_much = [] {
        weighted_semaphore s(5);
        s.acquire(2);
        s.release(3);
    };
    const std::string message = fatal_line(
        "release(3) of a weft::weighted_semaphore of which 2 units are taken; pair each release with an acquire of as "
        "many");
    EXPECT_ABORT(as_culprit(too_much), message, culprit, frame_line);
    EXPECT_ABORT(as_plain_thread(too_much), message, plain_thread);
}

// ---- Latches.

TEST_F(SmallPrimitives, DestroyingALatchThatIsWaitedFor) {
    EXPECT_ABORT(
        as_culprit([] { destroy_while_waited_on(std::make_unique<latch>(1), [](const latch& l) { l.wait(); }); }),
        fatal_line("a weft::latch was destroyed while a thread waited for it; let its waiters return first"), culprit,
        frame_line);
}

TEST_F(SmallPrimitives, CountingALatchBelowZero) {
    const auto count_too_far = [] {
        latch l(2);
        l.count_down();
        l.count_down(2);
    };
    const std::string message =
        fatal_line("2 was subtracted from a weft::latch whose count was 1; construct it with the number of arrivals");
    EXPECT_ABORT(as_culprit(count_too_far), message, culprit, frame_line);
    EXPECT_ABORT(as_plain_thread(count_too_far), message, plain_thread);
    EXPECT_ABORT(
        as_culprit([] {
            latch l(1);
            l.count_down(-1);
        }),
        fatal_line("-1 was subtracted from a weft::latch whose count was 1; construct it with the number of arrivals"),
        culprit);
    EXPECT_ABORT(
        as_culprit([] {
            latch l(0);
            l.arrive_and_wait();
        }),
        fatal_line("1 was subtracted from a weft::latch whose count was 0; construct it with the number of arrivals"),
        culprit);
}

TEST_F(SmallPrimitives, MakingALatchWithAnInvalidCount) {
    EXPECT_ABORT(as_culprit([] { const latch l(-1); }),
                 fatal_line("a weft::latch was constructed with a count of -1; the count must be from 0 to 1073741823"),
                 culprit, frame_line);
    EXPECT_ABORT(
        as_culprit([] { const latch l(latch::max() + 1); }),
        fatal_line("a weft::latch was constructed with a count of 1073741824; the count must be from 0 to 1073741823"),
        culprit, frame_line);
}

// ---- Barriers.

TEST_F(SmallPrimitives, DestroyingABarrierThatIsWaitedFor) {
    EXPECT_ABORT(as_culprit([] {
                     destroy_while_waited_on(std::make_unique<barrier<>>(2), [](barrier<>& b) { b.arrive_and_wait(); });
                 }),
                 fatal_line("a weft::barrier was destroyed while a thread waited for it; let its waiters return first"),
                 culprit, frame_line);
}

TEST_F(SmallPrimitives, ArrivingAtABarrierTooOften) {
    const auto crowd = [] {
        barrier<> b(3);
        (void)b.arrive();
        (void)b.arrive(3);
    };
    const std::string message = fatal_line(
        "3 arrived at a weft::barrier that expected 2 more in this phase; construct it with the number of arrivals");
    EXPECT_ABORT(as_culprit(crowd), message, culprit, frame_line);
    EXPECT_ABORT(as_plain_thread(crowd), message, plain_thread);
    EXPECT_ABORT(as_culprit([] {
                     barrier<> b(3);
                     (void)b.arrive(0);
                 }),
                 fatal_line("0 arrived at a weft::barrier that expected 3 more in this phase; construct it with the "
                            "number of arrivals"),
                 culprit);
    EXPECT_ABORT(as_culprit([] {
                     barrier<> b(1);
                     b.arrive_and_drop();
                     b.arrive_and_wait();
                 }),
                 fatal_line("1 arrived at a weft::barrier that expected 0 more in this phase; construct it with the "
                            "number of arrivals"),
                 culprit);
}

// The phase ends only when the completion function has returned.
TEST_F(SmallPrimitives, ArrivingInTheCompletionOfABarrier) {
    struct arrive_again {
        barrier<arrive_again>*& itself;

        void operator()() const noexcept { (void)itself->arrive(); }
    };

    EXPECT_ABORT(as_culprit([] {
                     barrier<arrive_again>* itself = nullptr;
                     barrier<arrive_again> b(1, {itself});
                     itself = &b;
                     b.arrive_and_wait();
                 }),
                 fatal_line("1 arrived at a weft::barrier that expected 0 more in this phase; construct it with the "
                            "number of arrivals"),
                 culprit, frame_line);
}

TEST_F(SmallPrimitives, MakingABarrierWithAnInvalidCount) {
    EXPECT_ABORT(as_culprit([] { const barrier<> b(-1); }),
                 fatal_line("a weft::barrier was constructed for -1 arrivals; the number must be from 0 to 1073741823"),
                 culprit, frame_line);
}

// ---- Events.

TEST_F(SmallPrimitives, DestroyingAnEventThatIsWaitedFor) {
    EXPECT_ABORT(as_culprit([] { destroy_while_waited_on(std::make_unique<event>(), [](event& e) { e.wait(); }); }),
                 fatal_line("a weft::event was destroyed while a thread waited for it; let its waiters return first"),
                 culprit, frame_line);
}

}  // namespace
}  // namespace weft::test
