// observe_test.cc: what a process writes to stderr while it runs: traces, dumps on a signal, the
// watchdog.

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <weft/weft.h>

#include "death/death.h"
#include "os/signals.h"
#include "support/eventually.h"
#include "support/two_ends.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class Observe : public DeathTest {};

// Runs body as main, in a process that has RUN_DEBUG=debug, and exits with 0.
template <typename F>
void run_main(const char* debug, unsigned procs, F&& body) {
    setenv("RUN_DEBUG", debug, 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
    std::_Exit(weft::main({.procs = procs}, body));
}

#define EXPECT_SAYS(statement, ...) EXPECT_EXIT(statement, ::testing::ExitedWithCode(0), says({__VA_ARGS__}))

// Enough for a monitor that shares its core with much else.
constexpr auto some_time = 1200ms;

TEST_F(Observe, ATraceIsWrittenWhileAllPsCompute) {
    EXPECT_SAYS(run_main("schedtrace=50", 2,
                         [] {
                             wait_group all;
                             for (int i = 0; i < 2; ++i) all.go([] { compute_for(some_time); });
                             all.wait();
                         }),
                "SCHED %dms: gomaxprocs=2 idleprocs=0 threads=%d spinningthreads=%d needspinning=%d idlethreads=%d "
                "runqueue=%d [ %d %d ] schedticks=[ %d %d ]");
}

// Makes stderr a pipe of one page, which is full. Returns the other end.
int make_stderr_a_full_pipe() {
    static const two_ends ends = two_ends::of_small_pipe();
    ends.fill();
    dup2(ends.write_end(), STDERR_FILENO);
    alarm(100);  // from here on no error can be printed
    return ends.read_end();
}

// Whether the only P of rt is retaken from a green thread that computes until over is set.
// wait_until(condition) tells whether the condition became true.
template <typename F>
bool is_taken_away(runtime& rt, std::atomic<bool>& over, F&& wait_until) {
    std::atomic<bool> began = false;
    std::atomic<bool> ran = false;
    rt.go([&] {
        for (began = true; !over;) {}
    });
    if (!wait_until([&] { return began.load(); })) return false;
    rt.go([&] { ran = true; });
    return wait_until([&] { return ran.load(); });
}

// Like is_taken_away, but ends the process if the P is not retaken.
void expect_taken_away(runtime& rt, std::atomic<bool>& over) {
    const auto in_the_end = [](auto&& condition) {
        eventually(condition);
        return true;
    };
    static_cast<void>(is_taken_away(rt, over, in_the_end));
}

// A monitor that blocks on stderr would retake no P, and stop() would wait for it for ever.
TEST_F(Observe, AnUnreadStderrDoesNotBlockTheMonitor) {
    EXPECT_EXIT(
        {
            static_cast<void>(make_stderr_a_full_pipe());
            setenv("RUN_DEBUG", "schedtrace=10", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
            runtime rt({.procs = 1});
            std::atomic<bool> over = false;
            expect_taken_away(rt, over);
            over = true;
            rt.shutdown(100ms);
            std::_Exit(0);
        },
        ::testing::ExitedWithCode(0), "^$");
}

// The runtime reports how much it left out once the pipe is read.
TEST_F(Observe, CountsUnreadReports) {
    EXPECT_EXIT(
        {
            const int other_end = make_stderr_a_full_pipe();
            setenv("RUN_DEBUG", "schedtrace=10", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
            const runtime rt({.procs = 1});
            std::string text;
            while (text.find("pieces of reports were left out: stderr was not read\n") == std::string::npos) {
                std::this_thread::sleep_for(50ms);  // for some traces; the pipe has room for one
                char page[4096];
                const ssize_t n = read(other_end, page, sizeof(page));
                if (n > 0) text.append(page, static_cast<std::size_t>(n));
            }
            std::_Exit(0);
        },
        ::testing::ExitedWithCode(0), "^$");
}

// Makes stderr a terminal that is never read. Ends the process with success where the system has no
// terminals.
void make_stderr_a_terminal() {
    static const two_ends ends = two_ends::of_terminal();
    if (!ends) std::_Exit(0);
    ends.fill();
    // Makes some room, so that the terminal does not look full.
    char page[4096];
    static_cast<void>(read(ends.read_end(), page, sizeof(page)));
    dup2(ends.write_end(), STDERR_FILENO);
    alarm(100);
}

// A terminal counts as writable when it has any room at all. Writing a longer report must not wait
// for ever for the rest of the room.
TEST_F(Observe, AnUnreadTerminalDoesNotBlockTheMonitor) {
    EXPECT_EXIT(
        {
            make_stderr_a_terminal();
            setenv("RUN_DEBUG", "schedtrace=1,scheddetail=1", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
            runtime rt({.procs = 1});
            for (int i = 0; i < 100; ++i) rt.go([] { chan<int>::nil().recv(); });  // long traces
            eventually([&] { return rt.stats().monitor_looks > 100; });
            std::atomic<bool> over = false;
            expect_taken_away(rt, over);
            over = true;
            rt.abandon();
            std::_Exit(0);
        },
        ::testing::ExitedWithCode(0), "^$");
}

// A wait that a signal interrupts must not count as a sign that stderr is being read.
TEST_F(Observe, SignalsDoNotMakeStopWaitForAnUnreadStderr) {
    EXPECT_EXIT(
        {
            static_cast<void>(make_stderr_a_full_pipe());
            struct sigaction action{};
            action.sa_handler = [](int) {};
            sigaction(SIGUSR1, &action, nullptr);
            runtime rt({.procs = 1});
            std::atomic<bool> began = false;
            rt.go([&] {
                for (began = true;;) {}
            });
            eventually([&] { return began.load(); });
            std::thread([main = pthread_self()] {
                for (;; std::this_thread::sleep_for(1ms)) pthread_kill(main, SIGUSR1);
            }).detach();
            const stop_outcome done = rt.shutdown(100ms);
            std::_Exit(done.stragglers == 1 ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "^$");
}

// Reads the dump of a process with many green threads, one page each millisecond, so that the dump
// takes a while.
class slow_reader {
public:
    static constexpr int many = 5'000;

    slow_reader() : fd_(make_stderr_a_full_pipe()) {}

    // Reads until condition() is true. Returns whether that was before the end of the dump.
    template <typename F>
    bool read_until(F&& condition) {
        while (!condition()) {
            char page[4096];
            const ssize_t n = read(fd_, page, sizeof(page));
            if (n > 0) last_two_.append(page, static_cast<std::size_t>(n));
            if (last_two_.find("stack use by the place") != std::string::npos) return false;
            if (last_two_.size() > sizeof(page)) last_two_.erase(0, last_two_.size() - sizeof(page));
            std::this_thread::sleep_for(1ms);
        }
        return true;
    }

    bool read_until_says(const char* words) {
        return read_until([&] { return last_two_.find(words) != std::string::npos; });
    }

private:
    int fd_;
    std::string last_two_;  // pages
};

void wait_below(unsigned turns, int depth);

[[gnu::noinline]] void turn_left(unsigned turns, int depth) {
    wait_below(turns, depth);
    asm volatile("" ::: "memory");  // not a tail call
}

[[gnu::noinline]] void turn_right(unsigned turns, int depth) {
    wait_below(turns, depth);
    asm volatile("" ::: "memory");
}

// A different stack for each number of depth bits, so that a dump has an entry for each.
void wait_below(unsigned turns, int depth) {
    if (depth == 0) {
        chan<int>::nil().recv();
    } else if (turns % 2 == 0) {
        turn_left(turns / 2, depth - 1);
    } else {
        turn_right(turns / 2, depth - 1);
    }
}

void start_many(runtime& rt) {
    constexpr int depth = 13;
    static_assert(slow_reader::many < 1 << depth);
    for (unsigned i = 0; i < slow_reader::many; ++i) rt.go([i] { wait_below(i, depth); });
    eventually([&] { return rt.stats().waiting == slow_reader::many; });
}

// Whether rt retakes its only P from a green thread that computes while a dump is written to r, and
// stops before the end of the dump.
bool goes_on_during_the_dump(runtime& rt, slow_reader& r) {
    std::atomic<bool> over = false;
    const bool good = is_taken_away(rt, over, [&](auto&& condition) { return r.read_until(condition); });
    over = true;
    rt.abandon();
    return good;
}

// Ms that compute must not keep their Ps until the dump is written.
TEST_F(Observe, RetakesContinueDuringADump) {
    EXPECT_EXIT(
        {
            slow_reader r;
            dump_on_signal(SIGUSR1);
            runtime rt({.procs = 1});
            start_many(rt);
            kill(getpid(), SIGUSR1);
            if (!r.read_until_says("1 Ps")) std::_Exit(1);
            std::_Exit(goes_on_during_the_dump(rt, r) ? 0 : 2);
        },
        ::testing::ExitedWithCode(0), "^$");
}

// The monitor of another runtime must go on working while it waits for its turn to dump.
TEST_F(Observe, RetakesContinueDuringADumpOfAnotherRuntime) {
    EXPECT_EXIT(
        {
            slow_reader r;
            runtime other({.procs = 1, .name = "other"});
            start_many(other);
            dump_on_signal(SIGUSR1);
            kill(getpid(), SIGUSR1);
            if (!r.read_until_says("\"other\"")) std::_Exit(1);
            runtime rt({.procs = 1});
            kill(getpid(), SIGUSR1);
            std::_Exit(goes_on_during_the_dump(rt, r) ? 0 : 2);
        },
        ::testing::ExitedWithCode(0), "^$");
}

TEST_F(Observe, ATraceIsWrittenWhileAllWait) {
    EXPECT_SAYS(run_main("schedtrace=50", 1, [] { sleep_for(some_time); }),
                "SCHED %dms: gomaxprocs=1 idleprocs=1 threads=%d spinningthreads=0 needspinning=%d idlethreads=%d "
                "runqueue=0 [ 0 ] schedticks=[ %d ]",
                "SCHED %dms: gomaxprocs=1 idleprocs=1 %s");
}

TEST_F(Observe, ADetailedTraceHasALineForEachPMAndG) {
    EXPECT_SAYS(run_main("schedtrace=100,scheddetail=1", 1,
                         [] {
                             const chan<int> c;
                             go([c] { c.recv(); });
                             yield();
                             compute_for(some_time);
                             c.send(1);
                         }),
                "SCHED %dms: gomaxprocs=1 idleprocs=%d threads=%d %s",
                "  P0: status=running schedtick=%d m=0 runqsize=0 runnext=0 high=0 low=0 nexttimer=nil",
                "  M0: p=0 curg=1 incall=0 spinning=0 blocked=0 lockedg=nil tid=%d");
    EXPECT_SAYS(run_main("schedtrace=100,scheddetail=1", 1,
                         [] {
                             go([] { chan<int>::nil().recv(); });
                             sleep_for(some_time);
                         }),
                "  P0: status=idle schedtick=%d m=nil %s", "  M0: p=nil curg=nil incall=0 spinning=0 blocked=1 %s");
}

TEST_F(Observe, ADetailedTraceNamesThePinnedThread) {
    EXPECT_SAYS(run_main("schedtrace=100,scheddetail=1", 1,
                         [] {
                             const pin here;
                             sleep_for(some_time);
                         }),
                "SCHED %dms: gomaxprocs=1 idleprocs=%d threads=%d %s sysmonwait=%d high=0 low=0 stopping=0",
                "  M0: p=nil curg=nil incall=0 spinning=0 blocked=%d lockedg=1 tid=%d",
                "  G1: status=waiting(sleep) m=nil lockedm=0");
}

TEST_F(Observe, ATraceShowsWhatGreenThreadsWaitFor) {
    EXPECT_SAYS(run_main("schedtrace=100,scheddetail=1", 1, [] { sleep_for(some_time); }),
                "  G1: status=waiting(sleep) m=nil lockedm=nil");
}

std::atomic<bool> chained{false};

TEST_F(Observe, ASignalDumpsWhileAllPsCompute) {
    EXPECT_SAYS(run_main("dumpsignal=USR1", 2,
                         [] {
                             wait_group all;
                             all.go({.name = "hog"}, [] { compute_for(some_time); });
                             all.go({.name = "sender"}, [] {
                                 kill(getpid(), SIGUSR1);
                                 compute_for(some_time);
                             });
                             all.wait();
                         }),
                "weft: runtime \"weft\", 2 Ps (%d idle), %d threads (%d idle)");
}

TEST_F(Observe, ASignalDumpsWhileAllWait) {
    EXPECT_SAYS(run_main("dumpsignal=QUIT", 2,
                         [] {
                             kill(getpid(), SIGQUIT);
                             sleep_for(some_time);
                         }),
                "green thread 1 \"main\" [%s, P%d]:");
}

TEST_F(Observe, ADumpOnASignalShowsFramesOfComputingGs) {
    if (!weft::detail::os::can_ask) GTEST_SKIP() << "signals come later with ThreadSanitizer";
    EXPECT_SAYS(run_main("dumpsignal=USR1", 1,
                         [] {
                             kill(getpid(), SIGUSR1);
                             compute_for(some_time);
                         }),
                "green thread 1 \"main\" [running, P0]:", "    (running on thread %d, with P0)", "    #0 %s");
}

// When the runtime was started, nothing told it that its threads would be asked.
TEST_F(Observe, ADumpOnALaterSignalShowsFramesOfComputingGs) {
    if (!weft::detail::os::can_ask) GTEST_SKIP() << "signals come later with ThreadSanitizer";
    EXPECT_SAYS(run_main("", 2,
                         [] {
                             std::atomic<int> computing{0};
                             wait_group all;
                             for (int i = 0; i < 2; ++i) {
                                 all.go({.name = i == 0 ? "hog" : "other hog"}, [&computing, i] {
                                     ++computing;
                                     busily([&] { return computing.load() == 2; });
                                     if (i == 0) {
                                         if (dump_on_signal(SIGUSR1) != 0) std::_Exit(1);
                                         kill(getpid(), SIGUSR1);
                                     }
                                     compute_for(some_time);
                                 });
                             }
                             all.wait();
                         }),
                "green thread %d \"hog\" [running, P%d]:", "    (running on thread %d, with P%d)", "    #0 %s",
                "green thread %d \"other hog\" [running, P%d]:", "    (running on thread %d, with P%d)", "    #0 %s");
}

TEST_F(Observe, ThePreviousHandlerIsCalled) {
    EXPECT_SAYS(
        {
            signal(SIGUSR2, [](int) { chained.store(true); });  // NOLINT
            if (dump_on_signal(SIGUSR2) != 0) std::_Exit(1);
            if (dump_on_signal(SIGUSR2) != 0) std::_Exit(2);
            if (dump_on_signal(SIGSEGV) == 0) std::_Exit(3);
            run_main("", 1, [] {
                kill(getpid(), SIGUSR2);
                sleep_for(some_time);
                return chained.load() ? 0 : 4;
            });
        },
        "weft: runtime \"weft\", 1 Ps (%d idle), %d threads (%d idle)");
}

TEST_F(Observe, TheWatchdogNamesAGThatRunsTooLong) {
    EXPECT_SAYS(run_main("watchdog=50", 1, [] { compute_for(some_time); }),
                "weft: watchdog: green thread 1 \"main\" (started by a plain thread at %s) has run for %d ms without "
                "entering the scheduler; call weft::yield(), or weft::blocking() around a call that blocks",
                "    (running on thread %d, with P0)");
}

TEST_F(Observe, TheWatchdogNamesEachGOnce) {
    EXPECT_EXIT(run_main("watchdog=50", 1, [] { compute_for(some_time); }), ::testing::ExitedWithCode(0),
                ::testing::Truly([](const std::string& text) {
                    // A monitor that was late itself forgets what it measured, and starts over.
                    const auto late = occurrences(text, "weft: watchdog: the monitor was");
                    const auto named = occurrences(text, "has run for");
                    return named <= 1 + late && (named >= 1 || late >= 1);
                }));
}

TEST_F(Observe, TheWatchdogShowsTheStackOfAStarvedG) {
    EXPECT_SAYS(run_main("watchdog=50,retake=0", 1,
                         [] {
                             go({.name = "left"}, [] { weft::yield(); });
                             weft::yield();
                             compute_for(some_time);
                         }),
                "weft: watchdog: green thread %d \"left\" %s has been runnable for %d ms %s", "    #0  %s");
}

TEST_F(Observe, TheWatchdogNamesAStarvedG) {
    EXPECT_SAYS(
        run_main("watchdog=50,retake=0", 1,
                 [] {
                     go({.name = "left"}, [] {});
                     compute_for(some_time);
                 }),
        "weft: watchdog: green thread %d \"left\" %s has been runnable for %d ms without running; 0 of 1 Ps are idle");
}

TEST_F(Observe, TheWatchdogIsQuietWhenAllIsWell) {
    // Each green thread runs, and is queued, for longer than the limit in total, but not in one
    // stretch. It sleeps for longer than the limit.
    EXPECT_EXIT(run_main("watchdog=300", 2,
                         [] {
                             wait_group all;
                             for (int i = 0; i < 4; ++i) {
                                 all.go([] {
                                     for (int k = 0; k < 200; ++k) {
                                         compute_for(2ms);
                                         yield();
                                     }
                                 });
                             }
                             all.wait();
                             sleep_for(some_time);
                         }),
                ::testing::ExitedWithCode(0), ::testing::Truly([](const std::string& text) {
                    return text.empty() || occurrences(text, "weft: watchdog: the monitor was") != 0;
                }));
}

// A green thread that yields alone is not switched away from, but has entered the scheduler.
TEST_F(Observe, TheWatchdogIsSilentAboutALoneYielder) {
    EXPECT_EXIT(run_main("watchdog=100", 2,
                         [] {
                             for (int k = 0; k < 200; ++k) {
                                 compute_for(2ms);
                                 yield();
                             }
                         }),
                ::testing::ExitedWithCode(0), ::testing::Truly([](const std::string& text) {
                    return text.empty() || occurrences(text, "weft: watchdog: the monitor was") != 0;
                }));
}

TEST_F(Observe, TheWatchdogReportsFiveAMinute) {
    EXPECT_SAYS(run_main("watchdog=10", 1,
                         [] {
                             for (int i = 0; i < 12; ++i) {
                                 compute_for(60ms);
                                 go([] {});
                                 yield();
                             }
                         }),
                "weft: watchdog: more reports are left out until a minute has passed");
}

}  // namespace
}  // namespace weft::test
