// single_flight_test.cc: callers that want what another caller is already fetching share its
// result.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/detail/cancel.h>
#include <weft/single_flight.h>
#include <weft/weft.h>

#include "support/captured.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class SingleFlight : public procs_test {
protected:
    // Starts n green threads. Returns once one of them calls, which means that it waits to receive,
    // and all others wait for that call. The number of parks would not tell: they may also have met
    // at the mutex.
    void gather(std::size_t n, const std::function<void()>& visit) {
        for (std::size_t i = 0; i < n; ++i) rt().go(visit);
        await_in_flight(n - 1);
        eventually([&] { return waiting("chan receive") == 1; });
    }

    // Returns once n callers wait for another caller's call.
    void await_in_flight(std::size_t n) {
        eventually([&] { return waiting("single flight") == n; });
    }

private:
    std::size_t waiting(const std::string& reason) {
        return occurrences(written_by([&](int fd) { rt().dump(fd, {.grouped = false, .names = false}); }),
                           "[" + reason + ", ");
    }
};

WEFT_SWEEP(SingleFlight);

TEST_P(SingleFlight, SequentialCallsEachRunTheFunction) {
    rt().run([] {
        single_flight<std::string, int> flights;
        int calls = 0;
        for (int i = 1; i <= 3; ++i) EXPECT_EQ(flights.do_("a", [&] { return ++calls; }), i);
    });
}

TEST_P(SingleFlight, ConcurrentCallersOfAKeyShareOneCall) {
    single_flight<int, std::shared_ptr<int>> flights;
    const chan<int> go_on;
    std::atomic<int> calls = 0;
    std::atomic<int> different = 0;
    std::atomic<int*> first = nullptr;
    gather(50, [&] {
        const auto result = flights.do_(1, [&] {
            ++calls;
            go_on.recv();
            return std::make_shared<int>(7);
        });
        int* expected = nullptr;
        if (!first.compare_exchange_strong(expected, result.get()) && expected != result.get()) ++different;
    });
    // Another key is independent.
    EXPECT_EQ(*flights.do_(2, [] { return std::make_shared<int>(9); }), 9);
    go_on.send(1);
    rt().drain();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(different, 0);
}

TEST_P(SingleFlight, PlainAndGreenThreadsShareACall) {
    single_flight<int, int> flights;
    std::atomic<bool> go_on = false;
    std::atomic<int> calls = 0;
    std::atomic<int> sum = 0;
    const auto visit = [&] {
        sum += flights.do_(1, [&] {
            ++calls;
            eventually([&] { return go_on.load(); });
            return 1;
        });
    };
    std::thread first(visit);
    eventually([&] { return calls == 1; });
    for (int i = 0; i < 5; ++i) rt().go(visit);
    await_in_flight(5);
    go_on = true;
    first.join();
    rt().drain();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(sum, 6);
}

TEST_P(SingleFlight, AnExceptionIsSharedAndNotKept) {
    single_flight<int, int> flights;
    const chan<int> go_on;
    std::atomic<int> calls = 0;
    std::atomic<int> caught = 0;
    gather(5, [&] {
        try {
            flights.do_(1, [&]() -> int {
                ++calls;
                go_on.recv();
                throw std::runtime_error("down");
            });
        } catch (const std::runtime_error&) {
            ++caught;
        }
    });
    go_on.send(1);
    rt().drain();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(caught, 5);
    EXPECT_EQ(flights.do_(1, [] { return 3; }), 3);
}

TEST_P(SingleFlight, AFunctionMayReturnVoid) {
    single_flight<int, void> flights;
    const chan<int> go_on;
    std::atomic<int> calls = 0;
    gather(5, [&] {
        flights.do_(1, [&] {
            ++calls;
            go_on.recv();
        });
    });
    go_on.send(1);
    rt().drain();
    EXPECT_EQ(calls, 1);
}

TEST_P(SingleFlight, AForgottenCallStillServesItsWaiters) {
    single_flight<int, int> flights;
    const chan<int> go_on;
    std::atomic<int> sum = 0;
    gather(3, [&] { sum += flights.do_(1, [&] { return go_on.recv().value(); }); });
    flights.forget(1);
    EXPECT_EQ(flights.do_(1, [] { return 100; }), 100);  // a new one
    go_on.send(2);
    rt().drain();
    EXPECT_EQ(sum, 6);
    // The end of the forgotten call has not ended a later one.
    park(1, [&] { rt().go([&] { sum += flights.do_(1, [&] { return go_on.recv().value(); }); }); });
    std::atomic<bool> joined = false;
    park(1, [&] {
        rt().go([&] {
            flights.do_(1, [] { return -1; });
            joined = true;
        });
    });
    EXPECT_FALSE(joined);
    go_on.send(4);
    rt().drain();
    EXPECT_EQ(sum, 10);
}

// ---- Cancellation.

TEST_P(SingleFlight, CancellingAWaiterDoesNotCancelTheCall) {
    single_flight<int, int> flights;
    const chan<int> go_on;
    std::atomic<int> result = 0;
    std::atomic<bool> thrown = false;
    weft::detail::cancel_context context(nullptr, weft::detail::never);
    park(1, [&] { rt().go([&] { result = flights.do_(1, [&] { return go_on.recv().value(); }); }); });
    park(1, [&] {
        rt().go([&] {
            const weft::detail::ambient_scope in(&context);
            try {
                flights.do_(1, [] { return -1; });
            } catch (const cancelled&) {
                thrown = true;
            }
        });
    });
    context.cancel();
    eventually([&] { return thrown.load(); });
    EXPECT_EQ(result, 0);
    go_on.send(5);
    rt().drain();
    EXPECT_EQ(result, 5);
}

// Being cancelled is not a result: one of the waiters calls instead.
TEST_P(SingleFlight, IfTheCallerIsCancelledAWaiterCalls) {
    single_flight<int, int> flights;
    const chan<int> go_on;
    std::atomic<int> cancelled_calls = 0;
    std::atomic<int> calls = 0;
    std::atomic<int> sum = 0;
    park(1, [&] {
        rt().go([&] {
            try {
                flights.do_(1, [&]() -> int {
                    go_on.recv();
                    throw cancelled();
                });
            } catch (const cancelled&) {
                ++cancelled_calls;
            }
        });
    });
    for (int i = 0; i < 4; ++i) {
        rt().go([&] {
            sum += flights.do_(1, [&] {
                ++calls;
                return 10;
            });
        });
    }
    await_in_flight(4);
    go_on.send(1);
    rt().drain();
    EXPECT_EQ(cancelled_calls, 1);
    EXPECT_GE(calls, 1);
    EXPECT_EQ(sum, 40);
}

// ---- Many at once.

TEST_P(SingleFlight, CallsForOneKeyNeverOverlap) {
    single_flight<int, int> flights;
    constexpr int keys = 3;
    std::atomic<int> under_way[keys] = {};
    std::atomic<int> overlaps = 0;
    std::atomic<int> wrong = 0;
    const auto hammer = [&](uint64_t seed) {
        prng random(seed);
        for (int i = scaled(1000); i > 0; --i) {
            const int key = random.below(keys);
            const int result = flights.do_(key, [&] {
                overlaps += under_way[key]++ != 0;
                if (random.one_in(8)) compute_for(3us);
                if (random.one_in(32)) sleep_for(5us);
                --under_way[key];
                return key;
            });
            wrong += result != key;
        }
    };
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 2; ++t) threads.emplace_back(hammer, t);
    for (uint64_t g = 2; g < 8; ++g) rt().go([&, g] { hammer(g); });
    for (std::thread& t : threads) t.join();
    rt().drain();
    EXPECT_EQ(overlaps, 0);
    EXPECT_EQ(wrong, 0);
}

TEST_P(SingleFlight, MayBeDestroyedWhenItsCallsHaveReturned) {
    const int rounds = scaled(500);
    rt().run([rounds] {
        struct shared {
            single_flight<int, int> flights;
            std::atomic<int> users = 4;
        };

        for (int i = 0; i < rounds; ++i) {
            auto* object = new shared;
            wait_group all;
            for (int u = 0; u < 4; ++u) {
                all.go([object] {
                    object->flights.do_(1, [] {
                        weft::yield();
                        return 1;
                    });
                    if (--object->users == 0) delete object;
                });
            }
            all.wait();
        }
    });
}

}  // namespace
}  // namespace weft::test
