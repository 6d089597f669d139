// preemptible_test.cc: marked code is interrupted where it is, and finds its state unchanged.
//
// Nothing here is instrumented. An `asking` thread takes the monitor's role. Where the runtime
// sends no signals (ThreadSanitizer delivers them too late), there is nothing to test.

#if !defined(_WIN32)
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <weft/blocking.h>
#include <weft/run/preempt.h>
#include <weft/weft.h>

#include "support/asking.h"
#include "support/build.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// Signals that reached other code: the handler installed before the runtime's.
std::atomic<int> strays = 0;

#if !defined(_WIN32)
void count_stray(int) { ++strays; }

// Before the first test: the first marked code of the process installs the runtime's handler, which
// calls the one before.
class strays_counted : public ::testing::Environment {
public:
    void SetUp() override {
        struct sigaction action = {};
        action.sa_handler = &count_stray;
        sigaction(SIGURG, &action, nullptr);  // without SA_RESTART: an interrupted call fails with EINTR
    }
};

[[maybe_unused]] const ::testing::Environment* const counted =
    ::testing::AddGlobalTestEnvironment(new strays_counted);  // GoogleTest deletes it
#endif

class Preemptible : public procs_test {
protected:
    void SetUp() override {
        if (built_with_tsan) GTEST_SKIP() << "no signals with ThreadSanitizer";
    }
};

WEFT_SWEEP_OVER(Preemptible, 1U, 2U, 4U);

// One step of a computation that depends on all earlier steps.
inline uint64_t step(uint64_t x) noexcept { return x * 6364136223846793005U + 1442695040888963407U; }

WEFT_TEST_OPAQUE uint64_t with_integers(uint64_t x, int n) {
    uint64_t a = x;
    uint64_t b = ~x;
    uint64_t c = x << 1;
    uint64_t d = x >> 1;
    for (int i = 0; i < n; ++i) {
        a = step(a) ^ b;
        b = step(b) + (a < c ? 1U : 0U);  // flags
        c = (c << 7 | c >> 57) - d;
        d = step(d) ^ (c & 0xff);
    }
    return a ^ b ^ c ^ d;
}

TEST_P(Preemptible, ALoopWithoutCallsIsPreempted) {
    std::atomic<bool> had_its_turn = false;
    uint64_t times = 0;
    rt().run([&] {
        const asking monitor(1ms);
        wait_group all;
        std::atomic<unsigned> computing = 0;
        for (unsigned i = 0; i < procs(); ++i) {
            all.go([&] {
                const preemptible here;
                ++computing;
                while (!had_its_turn.load(std::memory_order_relaxed)) {}
            });
        }
        while (computing != procs()) weft::yield();
        all.go([&] { had_its_turn = true; });
        all.wait();
        times = times_interrupted();
    });
    EXPECT_TRUE(times > 0 || in_storm());  // in a storm they may all have lost their processors instead
}

TEST_P(Preemptible, TheMonitorSendsTheSignalAtTheEndOfATimeSlice) {
    std::atomic<uint64_t> times = 0;
    rt().run([&] {
        wait_group all;
        std::atomic<bool> over = false;
        for (unsigned i = 0; i <= procs(); ++i) {
            all.go([&] {
                while (!over) {
                    // A G that lost its P because it did not react gets one again, so some G always
                    // waits for a P.
                    const auto until = steady_clock::now() + 50ms;
                    while (!over && steady_clock::now() < until) {
                        {
                            const preemptible here;
                            if (with_integers(1, 50'000) == 0) over = true;
                        }
                        times = times_interrupted();
                        if (times != 0) over = true;
                    }
                    weft::yield();
                }
            });
        }
        all.wait();
    });
    EXPECT_GT(times, 0U);
}

TEST_P(Preemptible, AGreenThreadMayBeMarkedAsAWhole) {
    std::atomic<bool> had_its_turn = false;
    rt().run([&] {
        const asking monitor(1ms);
        wait_group all;
        std::atomic<unsigned> computing = 0;
        for (unsigned i = 0; i < procs(); ++i) {
            all.add(1);
            go({.preemptible = true}, [&] {
                ++computing;
                while (!had_its_turn.load(std::memory_order_relaxed)) {}
                all.done();
            });
        }
        while (computing != procs()) weft::yield();
        all.go([&] { had_its_turn = true; });
        all.wait();
    });
    EXPECT_TRUE(had_its_turn);
}

// ---- Results: a storm, with results that any lost bit changes.

struct results {
    uint64_t integers;
    double doubles;
    long double extended;
    double vectors;

    bool operator==(const results&) const = default;
};

WEFT_TEST_OPAQUE double with_doubles(double x, int n) {
    double a = x;
    double b = 1 / x;
    for (int i = 0; i < n; ++i) {
        a = a * 0.999 + b * 0.001;
        b = b * 0.998 + a * 0.002;
    }
    return a + b;
}

WEFT_TEST_OPAQUE long double with_extended(long double x, int n) {
    long double a = x;
    long double b = 2;
    for (int i = 0; i < n; ++i) {
        a = a * 0.999L + b * 0.001L;
        b = b * 0.998L + a * 0.002L;
    }
    return a - b;
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) WEFT_TEST_OPAQUE double with_wide_vectors(double x, int n) {
    __m256d a[6];
    for (int k = 0; k < 6; ++k) a[k] = _mm256_set_pd(x + k, x + k + 0.25, x + k + 0.5, x + k + 0.75);
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < 6; ++k)
            a[k] = _mm256_fmadd_pd(a[k], _mm256_set1_pd(0.999), _mm256_mul_pd(a[(k + 1) % 6], _mm256_set1_pd(0.001)));
    }
    double out[4];
    double sum = 0;
    for (const __m256d& v : a) {
        _mm256_storeu_pd(out, v);
        sum += out[0] + 2 * out[1] + 3 * out[2] + 4 * out[3];
    }
    return sum;
}

double with_vectors(double x, int n) {
    const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return wide ? with_wide_vectors(x, n) : with_doubles(x, n);
}
#else
double with_vectors(double x, int n) { return with_doubles(x, n); }
#endif

// Keeps data below its stack pointer, where the ABI allows it.
WEFT_TEST_OPAQUE uint64_t in_the_red_zone(uint64_t x, int n) {
    volatile uint64_t local[12] = {};
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < 12; ++k) local[k] = local[k] + x + static_cast<uint64_t>(k);
    }
    uint64_t sum = 0;
    for (const volatile uint64_t& v : local) sum += v;
    return sum;
}

results compute(int who, int n) {
    const auto x = static_cast<double>(who + 1);
    return {with_integers(static_cast<uint64_t>(who) + 1, n) ^ in_the_red_zone(static_cast<uint64_t>(who), n / 8),
            with_doubles(x, n), with_extended(x, n), with_vectors(x, n / 4)};
}

TEST_P(Preemptible, AStormOfSignalsChangesNoResult) {
    constexpr int crowd = 5;
    constexpr int n = 20'000;
    results expected[crowd];
    for (int who = 0; who < crowd; ++who) expected[who] = compute(who, n);
    std::atomic<int> wrong = 0;
    uint64_t times = 0;
    strays = 0;
    rt().run([&] {
        const asking monitor(100us);
        wait_group all;
        for (int who = 0; who < crowd; ++who) {
            all.go([&, who] {
                for (int i = 0; i < scaled(200); ++i) {
                    results r;
                    {
                        const preemptible here;
                        r = compute(who, n);
                    }
                    wrong += r != expected[who];
                }
            });
        }
        all.wait();
        times = times_interrupted();
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(times, 0U);
    EXPECT_EQ(strays, 0);
}

TEST_P(Preemptible, ErrnoIsKept) {
    std::atomic<int> wrong = 0;
    rt().run([&] {
        const asking monitor(100us);
        wait_group all;
        for (int who = 1; who < 5; ++who) {
            all.go([&, who] {
                const preemptible here;
                uint64_t x = 1;
                for (int i = 0; i < scaled(300); ++i) {
                    errno = who;
                    for (int k = 0; k < 20'000; ++k) x = step(x);
                    wrong += errno != who;
                }
                if (x == 0) ++wrong;
            });
        }
        all.wait();
    });
    EXPECT_EQ(wrong, 0);
}

// ---- Scopes, threads, waits.

TEST_P(Preemptible, ScopesNest) {
    std::atomic<bool> over = false;
    rt().run([&] {
        const asking monitor(1ms);
        wait_group all;
        std::atomic<unsigned> computing = 0;
        for (unsigned i = 0; i < procs(); ++i) {
            all.go([&] {
                const preemptible outer;
                { const preemptible inner; }
                ++computing;
                while (!over.load(std::memory_order_relaxed)) {}
            });
        }
        while (computing != procs()) weft::yield();
        all.go([&] { over = true; });
        all.wait();
    });
    EXPECT_TRUE(over);
}

TEST_P(Preemptible, AYieldInAScopeMovesTheScopeWithIt) {
    std::atomic<int> wrong = 0;
    strays = 0;
    rt().run([&] {
        const asking monitor(100us);
        wait_group all;
        for (int who = 0; who < 6; ++who) {
            all.go([&, who] {
                const uint64_t expected = with_integers(static_cast<uint64_t>(who), 3000);
                const preemptible here;
                for (int i = 0; i < scaled(500); ++i) {
                    wrong += with_integers(static_cast<uint64_t>(who), 3000) != expected;
                    weft::yield();
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(strays, 0);
}

TEST_P(Preemptible, AnInterruptedGResumesOnItsThread) {
    std::atomic<int> moves = 0;
    rt().run([&] {
        const asking monitor(100us);
        wait_group all;
        for (int who = 0; who < 4; ++who) {
            all.go([&] {
                // On a busy machine the monitor may run late.
                for (int i = 0; i < scaled(100) || times_interrupted() == 0; ++i) {
                    int mine = 0;
                    {
                        const preemptible here;
                        mine = os_thread_id();  // here, because a scope may yield at its beginning
                        if (with_integers(1, 50'000) == 0) ++moves;
                    }
                    moves += os_thread_id() != mine;
                    weft::yield();
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(moves, 0);
}

TEST_P(Preemptible, StopInterruptsEndlessMarkedLoops) {
    std::atomic<unsigned> computing = 0;
    runtime own({.procs = procs()});
    for (unsigned i = 0; i < procs(); ++i) {
        own.go({.preemptible = true}, [&] {
            ++computing;
            for (;;) static_cast<void>(computing.load(std::memory_order_relaxed));
        });
    }
    eventually([&] { return computing == procs(); });
    EXPECT_EQ(own.abandon(), procs());
}

// With no P left to retake, they must be interrupted all the same; otherwise stop() waits for ever.
TEST_P(Preemptible, StopInterruptsMarkedLoopsWithoutAP) {
    const retakes_at_will storm;
    std::atomic<unsigned> computing = 0;
    runtime own({.procs = procs()});
    for (unsigned i = 0; i < procs(); ++i) {
        own.go({.preemptible = true}, [&] {
            for (;;) static_cast<void>(computing.load(std::memory_order_relaxed));
        });
    }
    eventually([&] { return own.stats().running_without_p == procs(); });
    EXPECT_EQ(own.abandon(), procs());
}

TEST_P(Preemptible, DoesNothingInAPlainThread) {
    std::thread([] {
        const preemptible here;
        EXPECT_EQ(run_preempt_enable(), RUN_OK);
        EXPECT_EQ(run_preempt_disable(), RUN_OK);
    }).join();
}

TEST(PreemptSignal, WithoutASignalNoneIsSent) {
    uint64_t times = 1;
    runtime own({.procs = 1, .preempt_signal = runtime_options::no_signal});
    own.run([&] {
        wait_group other;
        other.go([] {});
        {
            const preemptible here;
            ask_myself();
        }
        times = times_interrupted();
        other.wait();
    });
    EXPECT_EQ(times, 0U);
}

#if !defined(_WIN32)  // it has no signals

// ---- Only in marked code.

TEST_P(Preemptible, NoSignalArrivesOutsideMarkedCode) {
    strays = 0;
    std::atomic<int> disturbed = 0;
    uint64_t times = 0;
    rt().run([&] {
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        wait_group all;
        std::atomic<bool> over = false;
        {
            const asking monitor;  // as fast as possible
            for (int i = 0; i < 3; ++i) {
                all.go([&] {
                    uint64_t x = 1;
                    while (!over) {
                        {
                            const preemptible here;
                            for (int k = 0; k < 2000; ++k) x = step(x);
                        }
                        // System calls on a thread that takes the signal: a waiting call would fail
                        // with EINTR.
                        timespec nap = {.tv_sec = 0, .tv_nsec = 20'000};
                        if (nanosleep(&nap, nullptr) != 0) ++disturbed;
                        char byte = 0;
                        if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1) ++disturbed;
                    }
                    if (x == 0) ++disturbed;  // never true: ensures that x is computed
                });
            }
            const auto until = std::chrono::steady_clock::now() + 1000ms / scale();
            while (std::chrono::steady_clock::now() < until) sleep_for(1ms);
            over = true;
            all.wait();
        }
        times = times_interrupted();
        close(ends[0]);
        close(ends[1]);
    });
    EXPECT_EQ(disturbed, 0);
    EXPECT_EQ(strays, 0);
    static_cast<void>(times);
}

// Otherwise signals of the program count as the runtime's: os/marked_signal.h.
bool signals_carry_marks() {
    siginfo_t info{};
    info.si_code = SI_QUEUE;
    return ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), os_thread_id(), 0, &info) == 0;
}

TEST_P(Preemptible, SignalsOfTheProgramGoToItsOwnHandler) {
    if (!signals_carry_marks()) GTEST_SKIP() << "this system forbids signals with a mark (rt_tgsigqueueinfo)";
    strays = 0;
    rt().run([&] {
        const preemptible here;  // installs the runtime's handler, and unblocks the signal in this thread
        std::raise(SIGURG);
    });
    EXPECT_EQ(strays, 1);
}

// ---- Other code on the thread may do what it likes with the signal.

void change_mask(int how) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGURG);
    pthread_sigmask(how, &one, nullptr);
}

// The mask of one thread is changed. In a storm the caller may resume on another thread.
class PreemptibleLostSignal : private calm, public Preemptible {};

WEFT_SWEEP_OVER(PreemptibleLostSignal, 1U, 2U, 4U);

// Returns when the calling green thread has been interrupted in a scope. Needs a running `asking`
// thread.
void be_interrupted() {
    const uint64_t before = times_interrupted();
    busily([&] {
        checkpoint();  // in a storm its P may be gone, and then it is not interrupted
        const preemptible here;
        return with_integers(1, 20'000) == 0 || times_interrupted() != before;
    });
}

// A scope ends, and later ones are interrupted again, although meddle() kept a signal sent in it
// from arriving.
template <typename Meddle, typename Undo>
void expect_no_harm(runtime& rt, Meddle meddle, Undo undo) {
    strays = 0;
    rt.run([&] {
        const asking monitor(100us);
        be_interrupted();  // so that the runtime's handler is there
        for (int i = 0; i < 3; ++i) {
            const int mine = os_thread_id();
            {
                const preemptible here;
                meddle();
                ask_myself();
            }
            // This scope, whose gate stays shut, is not waited for either.
            { const preemptible here; }
            ASSERT_EQ(os_thread_id(), mine);
            undo();
            be_interrupted();
        }
    });
    EXPECT_EQ(strays, 0);
}

TEST_P(PreemptibleLostSignal, AScopeEndsWhileTheSignalIsBlocked) {
    expect_no_harm(rt(), [] { change_mask(SIG_BLOCK); }, [] { change_mask(SIG_UNBLOCK); });
}

TEST_P(PreemptibleLostSignal, AScopeEndsWhileTheSignalIsIgnored) {
    struct sigaction before = {};
    expect_no_harm(
        rt(),
        [&] {
            struct sigaction ignore = {};
            ignore.sa_handler = SIG_IGN;
            sigaction(SIGURG, &ignore, &before);
        },
        [&] { sigaction(SIGURG, &before, nullptr); });
}

TEST_P(PreemptibleLostSignal, AScopeEndsWhileAnotherHandlerTakesTheSignal) {
    struct sigaction before = {};
    expect_no_harm(
        rt(),
        [&] {
            struct sigaction other = {};
            other.sa_handler = [](int) {};
            sigaction(SIGURG, &other, &before);
        },
        [&] { sigaction(SIGURG, &before, nullptr); });
}

TEST_P(PreemptibleLostSignal, ScopesEndOnAThreadThatBlocksTheSignalForGood) {
    runtime own({.procs = procs()});  // its threads end with it
    own.run([] {
        const asking monitor(100us);
        be_interrupted();
        change_mask(SIG_BLOCK);
        for (int i = 0; i < 3; ++i) {
            const preemptible here;
            ask_myself();
        }
    });
}

TEST_P(Preemptible, ABlockingCallInMarkedCodeIsNotInterrupted) {
    strays = 0;
    std::atomic<int> disturbed = 0;
    rt().run([&] {
        const asking monitor(20us);
        wait_group all;
        all.add(1);
        go({.preemptible = true}, [&] {
            for (const hand_off when : {hand_off::late, hand_off::learned, hand_off::at_once}) {
                for (int i = 0; i < scaled(100); ++i)
                    disturbed += blocking(when, [] { return poll(nullptr, 0, 1); }) != 0;
                be_interrupted();
            }
            all.done();
        });
        all.wait();
    });
    EXPECT_EQ(disturbed, 0);
    EXPECT_EQ(strays, 0);
}

TEST_P(Preemptible, TheSignalMayBeAnotherOne) {
    std::atomic<bool> over = false;
    runtime own({.procs = 1, .preempt_signal = SIGUSR2});
    own.run([&] {
        const asking monitor(1ms);
        wait_group all;
        std::atomic<bool> computing = false;
        all.go([&] {
            const preemptible here;
            computing = true;
            while (!over.load(std::memory_order_relaxed)) {}
        });
        while (!computing) weft::yield();
        all.go([&] { over = true; });
        all.wait();
    });
    EXPECT_TRUE(over);
}

TEST(PreemptSignal, AnUnusableSignalIsRefused) {
    if (built_with_tsan) GTEST_SKIP() << "no signals with ThreadSanitizer";
    EXPECT_THROW(runtime({.preempt_signal = SIGKILL}), std::invalid_argument);
    EXPECT_THROW(runtime({.preempt_signal = SIGSEGV}), std::invalid_argument);
    EXPECT_THROW(runtime({.preempt_signal = 1000}), std::invalid_argument);
}

#endif

}  // namespace
}  // namespace weft::test
