// process_exit_test.cc: every way in which a process can end while green threads run, and objects
// with static storage that outlive them, or do not. docs/runtime.md describes the behaviour.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>

#include <weft/weft.h>

#include "death/death.h"
#include "support/build.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/resources.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// Prints a line of the dying process. The lines stay in order.
void say(const char* text) {
    const std::string line = std::string(text) + '\n';
    static_cast<void>(::write(2, line.data(), line.size()));
}

// Starts green threads, on the default runtime or the caller's, that compute, yield, sleep, block
// and wait. All of them have begun when this returns. Their shared state is never freed, because
// they run on while the process ends.
void start_all_kinds() {
    struct shared {
        std::atomic<int> began = 0;
        chan<int> never;
        mutex locked;
    };

    auto& s = *new shared;  // NOLINT: see above
    const auto begin = [&s](auto f) {
        go([&s, f] {
            ++s.began;
            f(s);
        });
    };
    begin([](shared&) {
        for (;;) asm volatile("");  // without the asm, the compiler may remove an endless loop
    });
    begin([](shared&) {
        for (;;) weft::yield();
    });
    begin([](shared&) {
        for (;;) sleep_for(50us);
    });
    begin([](shared&) { blocking([] { std::this_thread::sleep_for(1h); }); });
    begin([](shared&) { std::this_thread::sleep_for(1h); });
    begin([](shared& all) { all.never.recv(); });
    begin([](shared& all) {
        all.locked.lock();
        all.locked.lock();
    });
    eventually([&] { return s.began == 7; });
}

class ProcessExit : public DeathTest {
protected:
    void SetUp() override {
        // Memory that only the stacks of stuck threads refer to counts as a leak then, and some of
        // these tests end by the OS thread of a green one.
        if (built_with_asan) GTEST_SKIP() << "the leak checker does not know green threads that go on";
    }
};

// ---- Exit by a plain thread.

TEST_F(ProcessExit, MainMayReturnWhileTheDefaultRuntimeWorks) {
    EXPECT_EXIT(
        {
            start_all_kinds();
            std::exit(3);  // what the C library does with the result of main
        },
        ::testing::ExitedWithCode(3), "^$");
}

TEST_F(ProcessExit, WeftMainMayReturnWhileOthersWork) {
    for (const unsigned procs : {1U, 2U, 4U}) {
        EXPECT_EXIT(std::exit(weft::main({.procs = procs},
                                         [] {
                                             start_all_kinds();
                                             return 4;
                                         })),
                    ::testing::ExitedWithCode(4), "^$");
    }
}

TEST_F(ProcessExit, APlainThreadMayCallUnderscoreExit) {
    EXPECT_EXIT(
        {
            std::atexit([] { say("exit"); });
            start_all_kinds();
            ::_exit(6);
        },
        ::testing::ExitedWithCode(6), "^$");
}

// An M that ends because it is idle is joined by the next one that ends, and the last one when the
// process ends. ThreadSanitizer makes the process exit with its own code if one is not joined.
TEST_F(ProcessExit, JoinsThreadsThatEndedBefore) {
    EXPECT_EXIT(
        {
            change_environment("RUN_THREAD_IDLE", "1ms");
            std::atomic<int> in_call = 0;
            for (int i = 0; i < 8; ++i)
                go([&] {
                    blocking([&] {
                        for (++in_call; in_call <= 8;) std::this_thread::sleep_for(1ms);
                    });
                });
            eventually([&] { return in_call == 8; });
            const std::size_t most = resources::now().threads;
            in_call = 9;
            eventually([&] { return resources::now().threads < most; });
            std::exit(7);  // NOLINT(concurrency-mt-unsafe)
        },
        ::testing::ExitedWithCode(7), "^$");
}

TEST_F(ProcessExit, APlainThreadMayCallAbort) {
    EXPECT_EXIT(
        {
            start_all_kinds();
            std::abort();
        },
        by_abort, ::testing::Not(::testing::HasSubstr("weft")));
}

// ---- Exit by a green thread: of weft::main, of the default runtime, and of a runtime object.

// f ends the process.
template <typename F>
void in_main(F f) {
    weft::main({.procs = 2}, [&] {
        start_all_kinds();
        f();
    });
}

template <typename F>
void in_default_runtime(F f) {
    start_all_kinds();
    go(f);
    std::this_thread::sleep_for(1h);
}

template <typename F>
void in_runtime_object(F f) {
    runtime rt({.procs = 2});
    rt.run([&] {
        start_all_kinds();
        f();
    });
}

// f ends the process, as a green thread of each kind of runtime.
#define EXPECT_END(f, how, said)                                                                          \
    do {                                                                                                  \
        using body = std::remove_const_t<decltype(f)>;                                                    \
        for (void (*place)(body) : {&in_main<body>, &in_default_runtime<body>, &in_runtime_object<body>}) \
            EXPECT_EXIT(place(f), how, said);                                                             \
    } while (false)

TEST_F(ProcessExit, AGreenThreadMayCallExit) {
    const auto f = [] {
        std::atexit([] { say("exit"); });
        std::exit(7);
    };
    EXPECT_END(f, ::testing::ExitedWithCode(7), "^exit\n$");
}

TEST_F(ProcessExit, AGreenThreadMayCallUnderscoreExit) {
    const auto f = [] {
        std::atexit([] { say("exit"); });
        ::_exit(9);
    };
    EXPECT_END(f, ::testing::ExitedWithCode(9), "^$");
}

TEST_F(ProcessExit, AGreenThreadMayCallAbort) {
    const auto f = [] { std::abort(); };
    EXPECT_END(f, by_abort, "^$");
}

TEST_F(ProcessExit, ABlockingCallMayCallExit) {
    const auto f = [] { blocking([] { std::exit(10); }); };
    EXPECT_END(f, ::testing::ExitedWithCode(10), "^$");
}

TEST_F(ProcessExit, APinnedGreenThreadMayCallExit) {
    const auto f = [] {
        const pin here;
        std::exit(11);
    };
    EXPECT_END(f, ::testing::ExitedWithCode(11), "^$");
}

// The exit handlers run on the green thread, and may do what any green thread may do. Other green
// threads run on.
TEST_F(ProcessExit, HandlersOfAGreenThreadsExitMayWait) {
    const auto f = [] {
        std::atexit([] {
            sleep_for(100us);
            chan<int> c;
            go([c] { c.send(1); });
            if (c.recv() == 1) say("received");
        });
        std::exit(12);
    };
    EXPECT_END(f, ::testing::ExitedWithCode(12), "^received\n$");
}

// ---- Objects with static storage. Those of the statements below are constructed on first use, and
// destroyed by exit() in reverse order.

// Talks to a green thread in its destructor.
class last_words {
public:
    explicit last_words(const char* text) : text_(text) {}

    last_words(const last_words&) = delete;
    last_words& operator=(const last_words&) = delete;

    ~last_words() {
        const chan<int> answers;
        go([answers] { answers.send(1); });
        if (answers.recv() == 1) say(text_);
    }

private:
    const char* text_;
};

TEST_F(ProcessExit, ADestructorMayUseTheDefaultRuntimeWhichNeverStops) {
    EXPECT_EXIT(
        {
            static const last_words before("made before the runtime");
            start_all_kinds();
            static const last_words after("made after it");
            std::exit(20);
        },
        ::testing::ExitedWithCode(20), "^made after it\nmade before the runtime\n$");
}

// The runtime of weft::main is gone by then, so the default one is started.
TEST_F(ProcessExit, ADestructorMayUseChannelsAfterWeftMain) {
    EXPECT_EXIT(
        {
            static const last_words object("a fresh runtime");
            std::exit(weft::main({.procs = 2}, [] { return 21; }));
        },
        ::testing::ExitedWithCode(21), "^a fresh runtime\n$");
}

TEST_F(ProcessExit, ADestructorMayUseAChannelThatGreenThreadsWaitOn) {
    EXPECT_EXIT(
        {
            struct closer {
                chan<int> c;
                chan<int> heard;
                ~closer() {
                    c.close();
                    if (heard.recv() == 1) say("closed");
                }
            };
            static const closer object;
            go([c = object.c, heard = object.heard] {
                c.recv();
                heard.send(1);
            });
            eventually([] { return stats().parks >= 1; });
            std::exit(22);
        },
        ::testing::ExitedWithCode(22), "^closed\n$");
}

TEST_F(ProcessExit, ARuntimeDestroyedLastAbandonsItsGreenThreads) {
    EXPECT_EXIT(
        {
            static runtime rt({.procs = 2});
            static const chan<int> c;
            static const last_words object("words");
            for (int i = 0; i < 4; ++i) {
                rt.go([copy = c] { copy.recv(); });
                rt.go([] {
                    for (;;) weft::yield();
                });
            }
            eventually([] { return rt.stats().parks >= 4; });
            std::exit(23);
        },
        ::testing::ExitedWithCode(23), "^words\n$");
}

TEST_F(ProcessExit, ARuntimeDestroyedFirstAbandonsItsGreenThreads) {
    EXPECT_EXIT(
        {
            static const chan<int> c;
            static mutex m;
            static wait_group group;
            static std::optional<runtime> rt;
            rt.emplace(runtime_options{.procs = 2});
            group.add();
            m.lock();
            for (int i = 0; i < 4; ++i) {
                rt->go([] { c.recv(); });
                rt->go([] { m.lock(); });
                rt->go([] { group.wait(); });
                rt->go([] {
                    for (;;) weft::yield();
                });
            }
            eventually([] { return rt->stats().parks >= 12; });
            m.unlock();  // one of them holds it for ever
            std::exit(24);
        },
        ::testing::ExitedWithCode(24), "^$");
}

// exit() destroys the runtime on one of its own threads, which could not wait for itself.
TEST_F(ProcessExit, ExitOnAThreadOfAStaticRuntimeKeepsTheRuntime) {
    EXPECT_EXIT(
        {
            static runtime rt({.procs = 2});
            rt.run([] {
                start_all_kinds();
                std::exit(25);
            });
        },
        ::testing::ExitedWithCode(25), "^$");
    EXPECT_EXIT(
        {
            static const auto rt = std::make_unique<runtime>(runtime_options{.procs = 2});
            rt->run([] { blocking([] { std::exit(25); }); });
        },
        ::testing::ExitedWithCode(25), "^$");
}

// Without exit() this is a mistake.
TEST_F(ProcessExit, AGreenThreadDestroyingItsRuntimeIsFatal) {
    EXPECT_ABORT(
        {
            auto* rt = new runtime({.procs = 2});  // NOLINT: see below
            rt->run([rt] { delete rt; });
        },
        fatal_line("weft::runtime::shutdown() or abandon() was called by a green thread of that runtime, which would "
                   "wait for itself; call it from a plain thread"));
}

// The green threads that hold the mutex, and wait for it, run until the process ends.
TEST_F(ProcessExit, LocksMayBeDestroyedWhileGreenThreadsUseThem) {
    constexpr int times = 20;  // one in four would fail if a destructor unlocked
    for (int i = 0; i < times; ++i) {
        EXPECT_EXIT(
            {
                static mutex m;
                static shared_mutex sm;
                for (int k = 0; k < 8; ++k) {
                    go([] {
                        for (;;) {
                            const std::lock_guard held(m);
                            weft::yield();
                        }
                    });
                    go([] {
                        for (;;) {
                            const std::lock_guard held(sm);
                            weft::yield();
                        }
                    });
                }
                eventually([] { return stats().parks > 100; });
                std::exit(27);
            },
            ::testing::ExitedWithCode(27), "^$");
    }
}

#if !defined(_WIN32)  // its C library msvcrt has no quick_exit

TEST_F(ProcessExit, APlainThreadMayCallQuickExit) {
    EXPECT_EXIT(
        {
            std::atexit([] { say("exit"); });
            std::at_quick_exit([] { say("quick exit"); });
            start_all_kinds();
            std::quick_exit(5);
        },
        ::testing::ExitedWithCode(5), "^quick exit\n$");
}

TEST_F(ProcessExit, AGreenThreadMayCallQuickExit) {
    const auto f = [] {
        std::atexit([] { say("exit"); });
        std::at_quick_exit([] { say("quick exit"); });
        std::quick_exit(8);
    };
    EXPECT_END(f, ::testing::ExitedWithCode(8), "^quick exit\n$");
}

TEST_F(ProcessExit, AGreenThreadOfAStaticRuntimeMayCallQuickExit) {
    EXPECT_EXIT(
        {
            static runtime rt({.procs = 2});
            rt.run([] { std::quick_exit(26); });
        },
        ::testing::ExitedWithCode(26), "^$");
}

#endif

}  // namespace
}  // namespace weft::test
