// misuse_test.cc: a forbidden operation ends the program, with one line that names the mistake and
// the culprit.

#include <memory>
#include <mutex>
#include <thread>

#include <weft/weft.h>

#include "death/culprit.h"
#include "death/death.h"
#include "sched/current.h"
#include "sched/scheduler.h"

namespace weft::test {
namespace {

class Misuse : public DeathTest {};

// ---- A green thread waits for itself.

TEST_F(Misuse, AFunctionThatWaitsForItsOwnResult) {
    EXPECT_ABORT(as_culprit([] {
                     const chan<future<void>> own(1);
                     future<void> f = async([own] { own.recv()->get(); });
                     own.send(std::move(f));
                     weft::yield();
                     sleep_for(std::chrono::hours(1));
                 }),
                 fatal_line("a function waited for the weft::future of its own result, and would wait for ever; do not "
                            "pass it that future"),
                 "weft: in green thread %d (%s)");
}

// ---- Mutex.

TEST_F(Misuse, UnlockOfAnUnlockedMutex) {
    const auto unlock = [] {
        mutex m;
        m.unlock();
    };
    const std::string message =
        fatal_line("unlock of an unlocked weft::mutex; pair lock and unlock with std::lock_guard");
    EXPECT_ABORT(as_culprit(unlock), message, culprit, frame_line);
    EXPECT_ABORT(as_plain_thread(unlock), message, plain_thread);
    EXPECT_ABORT(unlock(), message);
}

TEST_F(Misuse, UnlockingAMutexTwice) {
    EXPECT_ABORT(as_culprit([] {
                     mutex m;
                     m.lock();
                     m.unlock();
                     m.unlock();
                 }),
                 fatal_line("unlock of an unlocked weft::mutex; pair lock and unlock with std::lock_guard"), culprit);
}

TEST_F(Misuse, DestroyingALockedMutex) {
    const auto destroy = [] {
        mutex m;
        m.lock();
    };
    const std::string message = fatal_line(
        "a weft::mutex was destroyed while it was locked or a thread waited for it; let its users finish first");
    EXPECT_ABORT(as_culprit(destroy), message, culprit, frame_line);
    EXPECT_ABORT(as_plain_thread(destroy), message, plain_thread);
}

TEST_F(Misuse, DestroyingAMutexThatIsWaitedFor) {
    EXPECT_ABORT(
        as_culprit([] {
            auto m = std::make_unique<mutex>();
            m->lock();
            const uint64_t parks = stats().parks;
            go([&m] { m->lock(); });
            while (stats().parks == parks) weft::yield();
            m.reset();
        }),
        fatal_line(
            "a weft::mutex was destroyed while it was locked or a thread waited for it; let its users finish first"),
        culprit);
}

// ---- Wait group.

TEST_F(Misuse, CallingDoneMoreOftenThanAdd) {
    const auto once_too_often = [] {
        wait_group all;
        all.add(2);
        all.done();
        all.done();
        all.done();
    };
    const std::string message =
        fatal_line("negative weft::wait_group count: 1 was subtracted from 0; call done() once for each add()");
    EXPECT_ABORT(as_culprit(once_too_often), message, culprit, frame_line);
    EXPECT_ABORT(as_plain_thread(once_too_often), message, plain_thread);
}

TEST_F(Misuse, SubtractingTooMuchFromAWaitGroup) {
    EXPECT_ABORT(
        as_culprit([] {
            wait_group all;
            all.add(3);
            all.add(-5);
        }),
        fatal_line("negative weft::wait_group count: 5 was subtracted from 3; call done() once for each add()"),
        culprit);
}

TEST_F(Misuse, AddingTooMuchToAWaitGroup) {
    const std::string message =
        fatal_line("weft::wait_group count too large: 1 was added to 1073741823; look for add() without done()");
    EXPECT_ABORT(as_culprit([] {
                     wait_group all;
                     all.add((1 << 30) - 1);
                     all.add();
                 }),
                 message, culprit);
    EXPECT_ABORT(as_culprit([] {
                     wait_group all;
                     all.add((1 << 30) - 1);
                     all.go([] {});
                 }),
                 message, culprit);
}

TEST_F(Misuse, DestroyingAWaitGroupThatIsWaitedOn) {
    EXPECT_ABORT(as_culprit(
                     [] {
                         auto all = std::make_unique<wait_group>();
                         all->add();
                         go([&group = *all] { group.wait(); });
                         yield();
                         all.reset();
                     },
                     1),
                 fatal_line("a weft::wait_group was destroyed while its count was 1; call wait() first"), culprit,
                 frame_line);
}

// ---- Channel.

TEST_F(Misuse, ClosingAChannelTwice) {
    const auto close_twice = [] {
        const chan<int> c;
        c.close();
        c.close();
    };
    const std::string message = fatal_line("close of a closed weft::chan; let only one sender close it");
    EXPECT_ABORT(as_culprit(close_twice), message, culprit, frame_line);
    EXPECT_ABORT(as_plain_thread(close_twice), message, plain_thread);
}

TEST_F(Misuse, ClosingANilChannel) {
    const auto close_nil = [] { chan<int>::nil().close(); };
    const std::string message = fatal_line("close of a nil weft::chan, which cannot be closed; make the channel first");
    EXPECT_ABORT(as_culprit(close_nil), message, culprit);
    EXPECT_ABORT(as_plain_thread(close_nil), message, plain_thread);
    EXPECT_ABORT(as_culprit([] { send_chan<int>(chan<int>::nil()).close(); }), message, culprit);
}

TEST_F(Misuse, DestroyingTheLastHandleOfAChannelThatIsWaitedOn) {
    EXPECT_ABORT(as_culprit(
                     [] {
                         auto c = std::make_unique<chan<int>>();
                         go([&handle = *c] { handle.recv(); });
                         yield();
                         c.reset();
                     },
                     1),
                 fatal_line("the last handle of a weft::chan was destroyed while a thread waited on it; give each "
                            "green thread its own copy"),
                 culprit, frame_line);
}

// ---- Yield.

TEST_F(Misuse, YieldOfAPlainThread) {
    const std::string message =
        fatal_line("weft::yield() was called by a plain thread; use std::this_thread::yield() there");
    EXPECT_ABORT(as_plain_thread([] { weft::yield(); }), message, plain_thread);
    EXPECT_ABORT(weft::yield(), message);
}

// ---- Runtimes.

TEST_F(Misuse, StoppingARuntimeFromWithin) {
    const std::string message = fatal_line(
        "weft::runtime::shutdown() or abandon() was called by a green thread of that runtime, which would wait for "
        "itself; call it from a plain thread");
    EXPECT_ABORT(
        {
            runtime rt({.procs = 2});
            rt.run([&rt] { rt.abandon(); });
        },
        message, "weft: in green thread %d \"run\" (started by a plain thread at %smisuse_test.cc:%d, in %s)",
        frame_line);
    EXPECT_ABORT(
        {
            auto rt = std::make_unique<runtime>(runtime_options{.procs = 1});
            rt->run([&rt] { rt.reset(); });
        },
        message);
}

TEST_F(Misuse, DrainingARuntimeFromWithin) {
    EXPECT_ABORT(
        {
            runtime rt({.procs = 2});
            rt.run([&rt] { rt.drain(); });
        },
        fatal_line("weft::runtime::drain() was called by a green thread of that runtime, which would wait for itself; "
                   "use a weft::wait_group"),
        "weft: in green thread %d \"run\" (%s)");
}

TEST_F(Misuse, UsingARuntimeAfterStop) {
    const std::string message = fatal_line("a weft::runtime was used after it stopped; call start() first");
    const auto stopped = [](auto use) {
        runtime rt({.procs = 1});
        rt.abandon();
        use(rt);
    };
    EXPECT_ABORT(stopped([](runtime& rt) { rt.go([] {}); }), message, plain_thread);
    EXPECT_ABORT(stopped([](runtime& rt) { rt.go({.name = "x"}, [] {}); }), message);
    EXPECT_ABORT(stopped([](runtime& rt) { (void)rt.async([] { return 1; }); }), message);
    EXPECT_ABORT(stopped([](runtime& rt) { rt.run([] {}); }), message);
    EXPECT_ABORT(stopped([](runtime& rt) { rt.drain(); }), message);
}

TEST_F(Misuse, MainWithinMain) {
    EXPECT_ABORT(weft::main([] { weft::main([] {}); }),
                 fatal_line("weft::main() was called from a green thread; call the function directly"),
                 "weft: in green thread 1 \"main\" (started by a plain thread at %smisuse_test.cc:%d, in %s)",
                 frame_line);
}

TEST_F(Misuse, MainWithinAnotherRuntime) {
    EXPECT_ABORT(as_culprit([] { weft::main([] {}); }),
                 fatal_line("weft::main() was called from a green thread; call the function directly"), culprit);
}

TEST_F(Misuse, MainBesideMain) {
    EXPECT_ABORT(weft::main([] { std::thread([] { weft::main([] {}); }).join(); }),
                 fatal_line("weft::main() was called while another weft::main() runs; make a weft::runtime instead"),
                 plain_thread);
}

// ---- Internal errors, which only a broken program or a bug in the library can cause.

TEST_F(Misuse, ReadyingAWaitThatCannotEnd) {
    EXPECT_ABORT(
        as_culprit([] {
            go({.name = "for ever"}, [] { chan<int>::nil().recv(); });
            detail::waiter* w = nullptr;
            while (w == nullptr) {
                weft::yield();
                detail::current_m()->home->gs.for_each([&](const detail::G& g) {
                    if (g.state.load() != detail::g_state::waiting) return;
                    if (std::string_view(g.name_or_empty()) == "for ever") w = g.waiting;
                });
            }
            detail::ready(*w);
            for (;;) weft::yield();
        }),
        fatal_line("a wait that no thread can end has ended: memory was overwritten, or this is a bug in weft"),
        "weft: in green thread %d \"for ever\" (started by %d at %s)");
}

TEST_F(Misuse, ReturningFromAContextWithoutACaller) {
    EXPECT_ABORT(
        {
            static char stack[64 * 1024];
            run_context_t here{};
            run_context_t there{};
            run_context_init(&there, stack + sizeof(stack), [](void*, void*) {}, nullptr);
            run_context_switch(&here, &there, nullptr);
        },
        fatal_line("run_g_exit() was called, or a context's entry function returned, in a plain thread; switch to "
                   "another context instead"));
}

TEST_F(Misuse, AFailedAssertionNamesItsConditionAndPlace) {
    const auto fail = [] { WEFT_ASSERT(1 + 1 == 3); };
    const std::string message = fatal_line("this is a bug in weft: 1 + 1 == 3 does not hold (%smisuse_test.cc:%d)");
    EXPECT_ABORT(as_culprit(fail), message, culprit, frame_line);
    EXPECT_ABORT(as_plain_thread(fail), message, plain_thread);
    EXPECT_ABORT(fail(), message);
}

// The report must neither wait for that of another thread, nor be mixed up with it.
TEST_F(Misuse, TwoConcurrentFatalErrorsEndTheProcess) {
    EXPECT_ABORT(
        {
            runtime rt({.procs = 2});
            for (int i = 0; i < 8; ++i) {
                rt.go({.name = "culprit"}, [] { chan<int>::nil().close(); });
            }
            rt.drain();
        },
        fatal_line("close of a nil weft::chan, which cannot be closed; make the channel first"));
}

}  // namespace
}  // namespace weft::test
