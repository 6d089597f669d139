// steal_storm_test.cc: green threads change their OS thread all the time, and check that their
// state moves with them.
//
// Registers, stacks and exceptions in flight must survive every wait, on whichever OS thread the
// green thread resumes. What belongs to the OS thread (errno, thread-local variables, its id) must
// be that of the new one. This depends on how the code is compiled, so the test is built and run at
// -O2, as -fPIC against the shared library, and under LTO.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <stdexcept>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "storm/thread_state.h"
#include "support/crossroads.h"
#include "support/eventually.h"
#include "support/opaque.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/resources.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using StealStorm = procs_test;
WEFT_SWEEP(StealStorm);

// Errors found, by kind, and how often green threads changed OS threads.
struct findings {
    std::atomic<int> wrong_errno = 0;
    std::atomic<int> wrong_thread = 0;
    std::atomic<int> wrong_integers = 0;
    std::atomic<int> wrong_floats = 0;
    std::atomic<int> wrong_vectors = 0;
    std::atomic<int> wrong_stack = 0;
    std::atomic<int> wrong_exception = 0;
    std::atomic<long> migrations = 0;
};

void expect_all_well(const findings& f) {
    EXPECT_EQ(f.wrong_errno, 0);
    EXPECT_EQ(f.wrong_thread, 0);
    EXPECT_EQ(f.wrong_integers, 0);
    EXPECT_EQ(f.wrong_floats, 0);
    EXPECT_EQ(f.wrong_vectors, 0);
    EXPECT_EQ(f.wrong_stack, 0);
    EXPECT_EQ(f.wrong_exception, 0);
}

// Waits in one of several ways, and counts whether it then runs on another OS thread.
class traveller {
public:
    traveller(const crossroads& place, findings& found, uint64_t seed) : place_(place), found_(found), random_(seed) {}

    WEFT_TEST_OPAQUE void travel() {
        const int before = os_thread_id();
        switch (random_.below(16)) {
            case 0:
                sleep_for(std::chrono::microseconds(random_.below(50)));
                break;
            case 1:
                async([] {}).get();
                break;
            case 2:
            case 3:
                weft::yield();
                break;
            default:
                place_.cross();
                break;
        }
        found_.migrations += os_thread_id() != before;
    }

    prng& random() { return random_; }

private:
    const crossroads& place_;
    findings& found_;
    prng random_;
};

// Runs journey(traveller) in many green threads, repeatedly until at least one has changed OS
// threads.
template <typename Journey>
void storm(runtime& rt, int travellers, findings& found, Journey journey) {
    prng seeds(announced_seed());
    eventually([&] {
        rt.run([&] {
            const crossroads place;
            wait_group all;
            for (int i = 0; i < travellers; ++i) {
                all.go([&, own_seed = seeds.next()] {
                    traveller t(place, found, own_seed);
                    journey(t);
                });
            }
            all.wait();
        });
        return found.migrations > 0 || rt.procs() == 1;
    });
}

TEST_P(StealStorm, ErrnoIsThatOfTheCurrentThread) {
    findings found;
    storm(rt(), scaled(300), found, [&](traveller& t) {
        for (int leg = 0; leg < 40; ++leg) {
            const int kind = t.random().below(error_kinds);
            found.wrong_errno += errno_of_failing_call(kind) != expected_errno(kind);
            t.travel();
            const int next_kind = t.random().below(error_kinds);
            set_errno(0);
            found.wrong_errno += errno_of_failing_call(next_kind) != expected_errno(next_kind);
        }
    });
    expect_all_well(found);
}

TEST_P(StealStorm, ThreadLocalsAreThoseOfTheCurrentThread) {
    findings found;
    storm(rt(), scaled(500), found, [&](traveller& t) {
        for (int leg = 0; leg < 50; ++leg) {
            found.wrong_thread += remembered_thread_id() != os_thread_id();
            t.travel();
            found.wrong_thread += remembered_thread_id() != os_thread_id();
        }
    });
    expect_all_well(found);
}

// More values are live over each wait than there are registers for them, so every callee-saved
// register holds some.
TEST_P(StealStorm, IntegersKeepTheirValues) {
    findings found;
    storm(rt(), scaled(500), found, [&](traveller& t) {
        const uint64_t base = t.random().next();
        uint64_t a = opaque(base), b = opaque(base + 1), c = opaque(base + 2), d = opaque(base + 3);
        uint64_t e = opaque(base + 4), f = opaque(base + 5), g = opaque(base + 6), h = opaque(base + 7);
        uint64_t i = opaque(base + 8), j = opaque(base + 9), k = opaque(base + 10), l = opaque(base + 11);
        for (uint64_t leg = 0; leg < 50; ++leg) {
            t.travel();
            a += 1, b += 2, c += 3, d += 4, e += 5, f += 6, g += 7, h += 8, i += 9, j += 10, k += 11, l += 12;
            const uint64_t n = leg + 1;
            found.wrong_integers += a != base + n || b != base + 1 + 2 * n || c != base + 2 + 3 * n;
            found.wrong_integers += d != base + 3 + 4 * n || e != base + 4 + 5 * n || f != base + 5 + 6 * n;
            found.wrong_integers += g != base + 6 + 7 * n || h != base + 7 + 8 * n || i != base + 8 + 9 * n;
            found.wrong_integers += j != base + 9 + 10 * n || k != base + 10 + 11 * n || l != base + 11 + 12 * n;
        }
    });
    expect_all_well(found);
}

TEST_P(StealStorm, FloatingPointKeepsItsValues) {
    findings found;
    storm(rt(), scaled(500), found, [&](traveller& t) {
        const double base = static_cast<double>(t.random().below(1'000'000));
        double a = opaque(base + 0.5), b = opaque(base + 0.25), c = opaque(-base), d = opaque(base * 3);
        double e = opaque(base + 1), f = opaque(base + 2), g = opaque(base + 3), h = opaque(base + 4);
        auto x = opaque(static_cast<float>(base));
        auto y = opaque(static_cast<long double>(base) + 0.125L);
        for (int leg = 0; leg < 50; ++leg) {
            t.travel();
            a += 1, b += 1, c += 1, d += 1, e += 1, f += 1, g += 1, h += 1, x += 1, y += 1;
            const double n = leg + 1;
            found.wrong_floats += a != base + 0.5 + n || b != base + 0.25 + n || c != n - base || d != base * 3 + n;
            found.wrong_floats += e != base + 1 + n || f != base + 2 + n || g != base + 3 + n || h != base + 4 + n;
            found.wrong_floats += x != static_cast<float>(base + n) || y != static_cast<long double>(base + n) + 0.125L;
        }
    });
    expect_all_well(found);
}

TEST_P(StealStorm, VectorsKeepTheirValues) {
    using four = std::array<float, 4>;
    using vector = float __attribute__((vector_size(16)));
    findings found;
    storm(rt(), scaled(300), found, [&](traveller& t) {
        const auto base = static_cast<float>(t.random().below(1000));
        vector v = opaque(vector{base, base + 1, base + 2, base + 3});
        for (int leg = 0; leg < 50; ++leg) {
            t.travel();
            v += 1;
            const auto n = static_cast<float>(leg + 1);
            const four now = {v[0], v[1], v[2], v[3]};
            found.wrong_vectors += now != four{base + n, base + 1 + n, base + 2 + n, base + 3 + n};
        }
    });
    expect_all_well(found);
}

int recurse(traveller& t, findings& found, int depth) {
    volatile int frame[64];
    const int mark = depth * 1000 + t.random().below(1000);
    for (volatile int& word : frame) word = mark;
    t.travel();
    const int below = depth == 0 ? 0 : recurse(t, found, depth - 1);
    t.travel();
    for (const volatile int& word : frame) found.wrong_stack += word != mark;
    return below + 1;
}

TEST_P(StealStorm, EveryFrameOfTheStackKeepsItsContent) {
    findings found;
    storm(rt(), scaled(200), found, [&](traveller& t) { found.wrong_stack += recurse(t, found, 20) != 21; });
    expect_all_well(found);
}

// All of it together.
TEST_P(StealStorm, TheWholeStateMigrates) {
    struct passenger : std::runtime_error {
        explicit passenger(uint64_t n) : std::runtime_error("passenger"), number(n) {}

        uint64_t number;
    };

    findings found;
    storm(rt(), scaled(500), found, [&](traveller& t) {
        for (int leg = 0; leg < 10; ++leg) {
            const uint64_t number = opaque(t.random().next());
            const double half = opaque(static_cast<double>(leg) + 0.5);
            const int kind = t.random().below(error_kinds);
            found.wrong_errno += errno_of_failing_call(kind) != expected_errno(kind);
            try {
                t.travel();
                throw passenger(number);
            } catch (const passenger& p) {
                t.travel();
                found.wrong_errno += errno_of_failing_call(kind) != expected_errno(kind);
                found.wrong_thread += remembered_thread_id() != os_thread_id();
                found.wrong_exception += p.number != number || std::uncaught_exceptions() != 0;
                t.travel();
                try {
                    std::rethrow_exception(std::current_exception());
                } catch (const passenger& again) {
                    found.wrong_exception += again.number != number;
                }
            }
            found.wrong_exception += std::current_exception() != nullptr;
            found.wrong_floats += half != static_cast<double>(leg) + 0.5;
        }
    });
    expect_all_well(found);
}

}  // namespace
}  // namespace weft::test
