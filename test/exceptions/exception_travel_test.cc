// exception_travel_test.cc: exceptions that pass from one green thread to another: through futures,
// groups and channels.

#include <atomic>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/crossroads.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using ExceptionTravel = procs_test;
WEFT_SWEEP(ExceptionTravel);

struct failure : std::runtime_error {
    explicit failure(int n) : std::runtime_error("failure"), number(n) {}

    int number;
};

TEST_P(ExceptionTravel, EachFutureThrowsItsOwn) {
    const int n = scaled(2000);
    const int wrong = rt().run([n] {
        const crossroads place;
        std::vector<future<int>> all;
        for (int i = 0; i < n; ++i) {
            all.push_back(async([&place, i]() -> int {
                place.cross();
                if (i % 3 == 0) throw failure(i);
                try {
                    throw failure(-i);
                } catch (const failure& e) {
                    place.cross();
                    return e.number;
                }
            }));
        }
        int mistakes = 0;
        for (int i = 0; i < n; ++i) {
            try {
                mistakes += all[static_cast<std::size_t>(i)].get() != -i || i % 3 == 0;
            } catch (const failure& e) {
                place.cross();
                mistakes += e.number != i || i % 3 != 0;
            }
        }
        return mistakes;
    });
    EXPECT_EQ(wrong, 0);
}

TEST_P(ExceptionTravel, AnExceptionPassesThroughATreeOfFutures) {
    struct tree {
        static int sum(int depth) {
            if (depth == 0) throw failure(1);
            auto left = async([depth] { return sum(depth - 1); });
            auto right = async([depth] { return sum(depth - 1); });
            int failed = 0;
            for (future<int>* side : {&left, &right}) {
                try {
                    side->get();
                } catch (const failure& e) {
                    weft::yield();
                    failed += e.number;
                }
            }
            throw failure(failed);
        }
    };

    const int depth = scale() > 1 ? 6 : 9;
    const int leaves = rt().run([depth] {
        try {
            return tree::sum(depth);
        } catch (const failure& e) {
            return e.number;
        }
    });
    EXPECT_EQ(leaves, 1 << depth);
}

TEST_P(ExceptionTravel, APlainThreadCatchesWhatAGreenThreadThrew) {
    const int n = scaled(300);
    std::vector<std::thread> threads;
    std::atomic<int> right = 0;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < n; ++i) {
                try {
                    rt().run([i] {
                        weft::yield();
                        throw failure(i);
                    });
                } catch (const failure& e) {
                    right += e.number == i;
                }
            }
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(right, 3 * n);
}

// Many green threads hold one exception object at once.
TEST_P(ExceptionTravel, OneExceptionIsSharedThroughAChannel) {
    const int holders = scaled(200);
    const int right = rt().run([holders] {
        const chan<std::exception_ptr> c;
        const crossroads place;
        std::atomic<int> same = 0;
        wait_group all;
        for (int i = 0; i < holders; ++i) {
            all.go([&] {
                const std::exception_ptr mine = c.recv().value_or(nullptr);
                for (int round = 0; round < 5; ++round) {
                    try {
                        std::rethrow_exception(mine);
                    } catch (const failure& e) {
                        place.cross();
                        same += e.number == 77;
                    }
                }
            });
        }
        try {
            throw failure(77);
        } catch (...) {
            for (int i = 0; i < holders; ++i) c.send(std::current_exception());
        }
        all.wait();
        return same.load();
    });
    EXPECT_EQ(right, 5 * holders);
}

TEST_P(ExceptionTravel, AGroupRethrowsInItsWaiter) {
    const int rounds = scaled(500);
    const int right = rt().run([rounds] {
        const crossroads place;
        int caught = 0;
        for (int i = 0; i < rounds; ++i) {
            wait_group all;
            all.go([&, i] {
                place.cross();
                throw failure(i);
            });
            all.go([&] { place.cross(); });
            try {
                all.wait();
            } catch (const failure& e) {
                place.cross();
                caught += e.number == i;
            }
        }
        return caught;
    });
    EXPECT_EQ(right, rounds);
}

// A send throws because the channel was closed during its wait, in a green thread that is already
// in a handler.
TEST_P(ExceptionTravel, AClosedChannelThrowsIntoAHandler) {
    const int senders = scaled(500);
    const chan<int> c;
    std::atomic<int> right = 0;
    park(static_cast<uint64_t>(senders), [&] {
        for (int i = 0; i < senders; ++i) {
            rt().go([&, i] {
                try {
                    throw failure(i);
                } catch (const failure& e) {
                    try {
                        c.send(1);
                    } catch (const channel_closed&) {
                        weft::yield();
                    }
                    right += e.number == i && std::uncaught_exceptions() == 0;
                }
            });
        }
    });
    c.close();
    rt().drain();
    EXPECT_EQ(right, senders);
}

}  // namespace
}  // namespace weft::test
