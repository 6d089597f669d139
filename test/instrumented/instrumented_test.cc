// instrumented_test.cc: code compiled by weft_instrument(): it yields when asked, and its results
// do not change.
//
// All of this file is instrumented. An asking thread stands for the monitor.

#include <alloca.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/run/preempt.h>
#include <weft/weft.h>

#include "support/asking.h"
#include "support/build.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::test {
namespace {

using Instrumented = procs_test;
WEFT_SWEEP_OVER(Instrumented, 1U, 2U, 4U);

// ---- Functions of all shapes, none of them inlined: each begins with a check.

WEFT_TEST_OPAQUE int fib(int n) {
    asm volatile("");  // without the asm, the loop may be taken for one with no iterations
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

WEFT_TEST_OPAQUE long eight(long a, long b, long c, long d, long e, long f, long g, long h) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

WEFT_TEST_OPAQUE double nine(double a, double b, double c, double d, double e, double f, double g, double h, double i) {
    return a - 2 * b + 3 * c - 4 * d + 5 * e - 6 * f + 7 * g - 8 * h + 9 * i;
}

WEFT_TEST_OPAQUE double sum_of(int n, ...) {
    va_list list;
    va_start(list, n);
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += i % 2 == 0 ? va_arg(list, int) : va_arg(list, double);
    va_end(list);
    return sum;
}

struct large {
    long a[9];
};

struct small {
    double x;
    long y;
};

WEFT_TEST_OPAQUE long by_value(large l, small s, int i) {
    return std::accumulate(l.a, l.a + 9, 0L) + static_cast<long>(s.x) + s.y + i;
}

WEFT_TEST_OPAQUE large through_memory(long seed) {
    large l;
    for (long i = 0; i < 9; ++i) l.a[i] = seed + i;
    return l;
}

WEFT_TEST_OPAQUE small in_registers(double x, long y) { return {x * 2, y * 3}; }

WEFT_TEST_OPAQUE long big_frame(long seed) {
    volatile char bytes[20'000];
    for (std::size_t i = 0; i < sizeof(bytes); i += 100) bytes[i] = static_cast<char>(seed);
    return bytes[0] + bytes[19'900];
}

__extension__ using int128 = __int128;

WEFT_TEST_OPAQUE int128 wide(int128 a, int128 b) { return a * b + 1; }

WEFT_TEST_OPAQUE long double extended(long double a, long double b) { return a * b + 0.5L; }

WEFT_TEST_OPAQUE int from_alloca(int n) {
    char* bytes = static_cast<char*>(alloca(static_cast<std::size_t>(n)));
    std::memset(bytes, 1, static_cast<std::size_t>(n));
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += bytes[i];
    return sum;
}

WEFT_TEST_OPAQUE int throws_at(int depth) {
    if (depth == 0) throw std::runtime_error("from below");
    const std::string kept = std::to_string(depth);  // destroyed when an exception passes
    return throws_at(depth - 1) + static_cast<int>(kept.size());
}

WEFT_TEST_OPAQUE int catches(int depth) {
    try {
        return throws_at(depth);
    } catch (const std::runtime_error& e) {
        return static_cast<int>(std::strlen(e.what())) + fib(5);
    }
}

// Computes while an exception is in flight.
struct computes_when_destroyed {
    int& result;

    WEFT_TEST_OPAQUE ~computes_when_destroyed() { result += fib(6); }
};

WEFT_TEST_OPAQUE int computes_while_unwinding() {
    int result = 0;
    try {
        const computes_when_destroyed a{result};
        throws_at(2);
    } catch (const std::exception&) {
        result += 100;
    }
    return result;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) WEFT_TEST_OPAQUE __m256d wide_vectors(__m256d a, __m256d b, __m256d c) {
    return _mm256_add_pd(_mm256_mul_pd(a, b), c);
}

__attribute__((target("avx2"))) WEFT_TEST_OPAQUE bool vectors_are_right(double seed) {
    const __m256d a = _mm256_set_pd(seed, seed + 1, seed + 2, seed + 3);
    const __m256d sum = wide_vectors(a, _mm256_set1_pd(2), _mm256_set_pd(1, 2, 3, 4));
    double out[4];
    _mm256_storeu_pd(out, sum);
    return out[3] == seed * 2 + 1 && out[2] == seed * 2 + 4 && out[1] == seed * 2 + 7 && out[0] == seed * 2 + 10;
}

bool vectors_fine(double seed) { return !__builtin_cpu_supports("avx2") || vectors_are_right(seed); }
#else
bool vectors_fine(double) { return true; }
#endif

// The number of wrong results.
WEFT_TEST_OPAQUE int mistakes(long seed) {
    int wrong = 0;
    const auto expect = [&wrong](bool right) { wrong += right ? 0 : 1; };
    expect(eight(seed, 2, 3, 4, 5, 6, 7, 8) == seed + 203);
    expect(nine(static_cast<double>(seed), 1, 1, 1, 1, 1, 1, 1, 1) == static_cast<double>(seed) + 4);
    expect(sum_of(6, 1, 2.5, 3, 4.5, 5, 6.5) == 22.5);
    expect(sum_of(9, 1, 1.0, 1, 1.0, 1, 1.0, 1, 1.0, 1) == 9);
    expect(by_value({{1, 2, 3, 4, 5, 6, 7, 8, 9}}, {3.5, 4}, 5) == 57);
    expect(through_memory(seed).a[8] == seed + 8);
    const small two = in_registers(1.5, seed);
    expect(two.x == 3.0 && two.y == 3 * seed);
    expect(big_frame(7) == 14);
    expect(wide(static_cast<int128>(1) << 80, 3) == (static_cast<int128>(3) << 80) + 1);
    expect(extended(1.25L, 4) == 5.5L);
    expect(from_alloca(static_cast<int>(seed % 1000) + 1) == static_cast<int>(seed % 1000) + 1);
    expect(catches(3) == 10 + 5);
    expect(computes_while_unwinding() == 108);
    expect(vectors_fine(static_cast<double>(seed)));
    const auto lambda = [seed](long x) { return x + seed; };
    expect(lambda(eight(0, 0, 0, 0, 0, 0, 0, 1)) == seed + 8);
    return wrong;
}

// ---- Yielding.

TEST_P(Instrumented, AComputationYieldsOnRequest) {
    std::atomic<bool> had_its_turn = false;
    rt().run([&] {
        const asking monitor(std::chrono::milliseconds(1));
        wait_group all;
        std::atomic<unsigned> computing = 0;
        for (unsigned i = 0; i < procs(); ++i) {
            all.go([&] {
                ++computing;
                while (!had_its_turn) fib(10);
            });
        }
        while (computing != procs()) weft::yield();
        all.go([&] { had_its_turn = true; });  // while every P computes
        all.wait();
    });
    EXPECT_TRUE(had_its_turn);
}

TEST_P(Instrumented, AllComputationsProgress) {
    constexpr int crowd = 6;
    std::atomic<int> least = 0;
    rt().run([&] {
        const asking monitor(std::chrono::microseconds(300));
        std::atomic<int> rounds[crowd] = {};
        wait_group all;
        for (auto& mine : rounds) {
            all.go([&] {
                // Until each has had three turns.
                while (least < 3) {
                    const uint64_t before = times_preempted();
                    while (times_preempted() == before && least < 3) fib(8);
                    ++mine;
                    int lowest = mine;
                    for (const auto& one : rounds) lowest = std::min(lowest, one.load());
                    if (lowest >= 3) least = lowest;
                }
            });
        }
        all.wait();
    });
    EXPECT_GE(least, 3);
}

TEST_P(Instrumented, TheMonitorPreemptsAtTheEndOfATimeSlice) {
    uint64_t times = 0;
    rt().run([&] {
        std::atomic<bool> over = false;
        wait_group all;
        for (unsigned i = 0; i <= procs(); ++i) {
            all.go([&] {
                // On a busy machine it may lose its processor before it notices that it was asked.
                // Then it yields and runs again.
                while (!over) {
                    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
                    while (!over && std::chrono::steady_clock::now() < until) {
                        fib(10);
                        if (times_preempted() != 0) over = true;
                    }
                    yield();
                }
            });
        }
        all.wait();
        times = times_preempted();
    });
    EXPECT_GT(times, 0U);
}

// An M without a P must still be asked, or stop() waits for ever.
TEST_P(Instrumented, StopPreemptsComputationsWithoutAP) {
    const retakes_at_will storm;
    runtime own({.procs = procs()});
    for (unsigned i = 0; i < procs(); ++i) {
        own.go([] {
            for (;;) fib(10);
        });
    }
    eventually([&] { return own.stats().running_without_p == procs(); });
    EXPECT_EQ(own.abandon(), procs());
}

TEST_P(Instrumented, TheNextFunctionYieldsOnce) {
    uint64_t times = 0;
    rt().run([&] {
        const uint64_t before = times_preempted();
        ask_myself();
        fib(1);
        fib(1);  // not asked again
        times = times_preempted() - before;
    });
    EXPECT_EQ(times, 1U);
}

// ---- Results.

TEST_P(Instrumented, EveryKindOfFunctionComputesTheSame) {
    std::atomic<int> wrong = 0;
    uint64_t times = 0;
    rt().run([&] {
        const asking monitor;
        wait_group all;
        for (int who = 0; who < 6; ++who) {
            all.go([&, who] {
                for (int i = 0; i < scaled(3000); ++i) wrong += mistakes(who * 1000 + i);
            });
        }
        all.wait();
        times = times_preempted();
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(times, 0U);
}

// Each function by itself, asked so early that the check at its beginning yields.
TEST_P(Instrumented, AFunctionMayBeStoppedAtItsFirstInstruction) {
    int wrong = 0;
    uint64_t times = 0;
    rt().run([&] {
        std::atomic<bool> over = false;
        wait_group others;
        others.go([&] {
            while (!over) weft::yield();
        });
        const uint64_t before = times_preempted();
        const auto asked = [](auto&& call) {
            ask_myself();
            return call();
        };
        for (int i = 0; i < scaled(200); ++i) {
            wrong += asked([] { return eight(1, 2, 3, 4, 5, 6, 7, 8); }) != 204;
            ask_myself();
            wrong += sum_of(6, 1, 2.5, 3, 4.5, 5, 6.5) != 22.5;
            ask_myself();
            wrong += by_value({{1, 2, 3, 4, 5, 6, 7, 8, 9}}, {3.5, 4}, 5) != 57;
            ask_myself();
            wrong += through_memory(5).a[8] != 13;
            ask_myself();
            wrong += from_alloca(300) != 300;
            ask_myself();
            wrong += extended(1.25L, 4) != 5.5L;
            ask_myself();
            wrong += vectors_fine(i) ? 0 : 1;
            ask_myself();
            wrong += big_frame(7) != 14;
        }
        times = times_preempted() - before;
        over = true;
        others.wait();
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_GE(times, static_cast<uint64_t>(scaled(200)) * 8);
}

// Compilers take the address of errno for a constant. It is not constant in code that moves to
// another OS thread.
WEFT_TEST_OPAQUE void set_errno(int value) { errno = value; }

TEST_P(Instrumented, ErrnoIsKept) {
    int wrong = 0;
    rt().run([&] {
        std::atomic<bool> over = false;
        wait_group others;
        others.go([&] {
            while (!over) {
                set_errno(5);
                weft::yield();
            }
        });
        for (int i = 0; i < scaled(500); ++i) {
            ask_myself();
            errno = i;
            fib(2);
            wrong += errno != i;
        }
        over = true;
        others.wait();
    });
    EXPECT_EQ(wrong, 0);
}

TEST_P(Instrumented, HandlersKeepTheirExceptionsAcrossPreemption) {
    std::atomic<int> wrong = 0;
    rt().run([&] {
        const asking monitor;
        wait_group all;
        for (int who = 0; who < 4; ++who) {
            all.go([&, who] {
                for (int i = 0; i < scaled(1000); ++i) {
                    try {
                        throw who;
                    } catch (int thrown) {
                        fib(6);
                        wrong += thrown != who;
                        try {
                            fib(3);
                            throw;
                        } catch (int again) {
                            wrong += again != who;
                        }
                    }
                    wrong += std::uncaught_exceptions();
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(wrong, 0);
}

// ---- Its OS thread.

TEST_P(Instrumented, APreemptedGStaysOnItsThreadUntilItParks) {
    std::atomic<int> moves = 0;
    std::atomic<int> pinned = 0;
    rt().run([&] {
        const asking monitor;
        wait_group all;
        for (int who = 0; who < 6; ++who) {
            all.go([&] {
                // On a busy machine it may take long until the monitor runs.
                for (int round = 0; round < scaled(200) || times_preempted() == 0; ++round) {
                    const int mine = gettid();
                    for (int i = 0; i < 20; ++i) {
                        fib(8);
                        moves += gettid() != mine;
                    }
                    weft::yield();
                    fib(4);
                    pinned += this_g::pinned();  // staying on its OS thread is no pin
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(moves, 0);
    EXPECT_EQ(pinned, 0);
}

TEST_P(Instrumented, AWaitReleasesAPreemptedGFromItsThread) {
    int kept_before = 0;
    int kept_after = 0;
    rt().run([&] {
        std::atomic<bool> over = false;
        wait_group others;
        // Other green threads must wait for our P at some time, or nothing makes ours yield.
        for (unsigned i = 0; i < procs(); ++i) {
            others.go([&] {
                while (!over) weft::yield();
            });
        }
        for (int i = 0; i < scaled(100) || kept_before == 0; ++i) {
            ask_myself();
            fib(1);
            kept_before += is_kept();
            sleep_for(std::chrono::nanoseconds(1));
            kept_after += is_kept();
        }
        over = true;
        others.wait();
    });
    EXPECT_EQ(kept_after, 0);
}

TEST_P(Instrumented, APinOutlivesTheStayAfterAPreemption) {
    int moves = 0;
    bool pinned_after = true;
    rt().run([&] {
        std::atomic<bool> over = false;
        wait_group others;
        others.go([&] {
            while (!over) weft::yield();
        });
        {
            ask_myself();
            fib(1);
            const pin here;
            const int mine = gettid();
            for (int i = 0; i < scaled(50); ++i) {
                ask_myself();
                fib(1);
                moves += gettid() != mine;
                weft::yield();
                moves += gettid() != mine;
                moves += !this_g::pinned();
            }
        }
        pinned_after = this_g::pinned();
        over = true;
        others.wait();
    });
    EXPECT_EQ(moves, 0);
    EXPECT_FALSE(pinned_after);
}

TEST_P(Instrumented, AnEndedPreemptedGReleasesItsThread) {
    rt().run([&] {
        const asking monitor;
        for (int round = 0; round < scaled(30); ++round) {
            wait_group all;
            for (int i = 0; i < 8; ++i) all.go([] { fib(12); });
            all.wait();
        }
    });
    // The fixture checks the threads.
    EXPECT_LT(rt().stats().threads, 40U);
}

// ---- Where it must not yield.

TEST_P(Instrumented, PlainThreadsAreLeftAlone) {
    int result = 0;
    std::thread([&] {
        run_preempt_hook();
        result = fib(15);
    }).join();
    EXPECT_EQ(result, 610);
}

// Its move constructor computes. So a green thread could be stopped in it while it holds a
// channel's lock.
struct slow_to_move {
    long value = 0;

    slow_to_move() = default;

    explicit slow_to_move(long v) : value(v) {}

    WEFT_TEST_OPAQUE slow_to_move(slow_to_move&& from) noexcept : value(from.value + fib(2) - 1) { from.value = 0; }

    slow_to_move& operator=(slow_to_move&& from) noexcept {
        value = from.value;
        return *this;
    }
};

TEST_P(Instrumented, NoGIsPreemptedWhileItHoldsARuntimeLock) {
    std::atomic<long> sum = 0;
    const long each = scaled(3000);
    rt().run([&] {
        const asking monitor;
        chan<slow_to_move> values(4);
        wait_group senders;
        wait_group receivers;
        for (int who = 0; who < 4; ++who) {
            senders.go([&] {
                for (long i = 1; i <= each; ++i) values.send(slow_to_move(i));
            });
            receivers.go([&] {
                while (auto v = values.recv()) sum += v->value;
            });
        }
        senders.wait();
        values.close();
        receivers.wait();
    });
    EXPECT_EQ(sum, 4 * each * (each + 1) / 2);
}

// Is asked to yield while it is moved, and checks.
struct asked_when_moved {
    static inline std::atomic<int> moves = 0;
    static inline std::atomic<int> stops = 0;

    asked_when_moved() = default;

    WEFT_TEST_OPAQUE asked_when_moved(asked_when_moved&& /*from*/) noexcept {
        const uint64_t before = times_preempted();
        ask_myself();
        fib(1);
        stops += times_preempted() != before;
        ++moves;
    }
};

TEST_P(Instrumented, AMoveUnderAChannelsLockIsNotPreempted) {
    if (built_with_asan) GTEST_SKIP() << "holds lie on a stack of the sanitizer's own";
    asked_when_moved::moves = 0;
    asked_when_moved::stops = 0;
    rt().run([&] {
        chan<asked_when_moved> values(1);
        asked_when_moved v;
        static_cast<void>(values.try_send(std::move(v)));
    });
    EXPECT_EQ(asked_when_moved::moves, 1);
    EXPECT_EQ(asked_when_moved::stops, 0);
}

TEST_P(Instrumented, SelectsGroupsAndFuturesWork) {
    std::atomic<long> sum = 0;
    const int each = scaled(500);
    rt().run([&] {
        const asking monitor;
        chan<slow_to_move> a(1);
        chan<std::string> b;
        wait_group all;
        all.go([&] {
            for (int i = 0; i < each; ++i) a.send(slow_to_move(1));
        });
        all.go([&] {
            for (int i = 0; i < each; ++i) b.send(std::to_string(i));
        });
        all.go([&] {
            for (int i = 0; i < 2 * each; ++i) {
                weft::select(weft::on_recv(a, [&](auto v) { sum += v->value; }),
                             weft::on_recv(b, [&](const auto& s) { sum += s.has_value() ? 1 : 0; }));
            }
        });
        for (int i = 0; i < each; ++i) sum += async([] { return fib(5); }).get();
        all.wait();
    });
    EXPECT_EQ(sum, each * 2L + each * 5L);
}

TEST_P(Instrumented, StopPreemptsEndlessComputations) {
    std::atomic<unsigned> computing = 0;
    runtime own({.procs = procs()});
    for (unsigned i = 0; i < procs(); ++i) {
        own.go([&] {
            ++computing;
            for (;;) fib(10);
        });
    }
    while (computing != procs()) std::this_thread::yield();
    EXPECT_EQ(own.abandon(), procs());
}

}  // namespace
}  // namespace weft::test
