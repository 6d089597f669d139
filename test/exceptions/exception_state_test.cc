// exception_state_test.cc: the exceptions that a green thread has thrown and caught stay its own,
// wherever it waits and resumes.
//
// The C++ library keeps the exceptions being handled, and the count of those in flight, for each OS
// thread. A green thread may wait inside a handler, or inside a destructor during unwinding, and
// then run on another OS thread. It must find its own state there, and the green threads that run
// in between must find nothing of it.

#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/crossroads.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using ExceptionState = procs_test;
WEFT_SWEEP(ExceptionState);

// Thrown only with the number of the green thread that throws it.
struct tagged : std::runtime_error {
    explicit tagged(int n) : std::runtime_error("tagged"), number(n) {}

    int number;
};

struct other_kind {
    int number;
};

// Errors, and how often a handler or destructor was left on another OS thread than it was entered
// on.
struct findings {
    std::atomic<int> wrong = 0;
    std::atomic<int> migrations = 0;

    void expect(bool holds) { wrong += !holds; }
};

// Waits, and counts whether the green thread then runs on another OS thread.
void wait_somewhere(const crossroads& place, findings& found) {
    const int before = os_thread_id();
    place.cross();
    found.migrations += os_thread_id() != before;
}

// Runs story(number, place, found) in many green threads at once. Repeats this until some waits
// ended on another OS thread, which the test is about. Checks that there were no errors.
template <typename Story>
void tell_many(runtime& rt, int tellers, Story story) {
    findings found;
    eventually([&] {
        rt.run([&] {
            const crossroads place;
            wait_group all;
            for (int i = 0; i < tellers; ++i) {
                all.go([&, i] {
                    story(i, place, found);
                    found.expect(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
                });
            }
            all.wait();
        });
        return found.migrations > 0 || rt.procs() == 1;
    });
    EXPECT_EQ(found.wrong, 0);
}

TEST_P(ExceptionState, AHandlerKeepsItsExceptionAcrossWaits) {
    tell_many(rt(), scaled(2000), [](int i, const crossroads& place, findings& found) {
        try {
            throw tagged(i);
        } catch (const tagged& e) {
            for (int round = 0; round < 5; ++round) {
                wait_somewhere(place, found);
                found.expect(e.number == i && std::uncaught_exceptions() == 0);
                try {
                    std::rethrow_exception(std::current_exception());
                } catch (const tagged& again) {
                    found.expect(&again == &e);
                }
            }
        }
    });
}

TEST_P(ExceptionState, AnExceptionIsRethrownAfterItsHandlerMigrates) {
    tell_many(rt(), scaled(2000), [](int i, const crossroads& place, findings& found) {
        int caught = -1;
        try {
            try {
                throw tagged(i);
            } catch (...) {
                wait_somewhere(place, found);
                throw;
            }
        } catch (const tagged& e) {
            wait_somewhere(place, found);
            caught = e.number;
        }
        found.expect(caught == i);
    });
}

TEST_P(ExceptionState, NestedHandlersKeepTheirExceptions) {
    tell_many(rt(), scaled(1000), [](int i, const crossroads& place, findings& found) {
        try {
            throw tagged(i);
        } catch (const tagged& outer) {
            wait_somewhere(place, found);
            try {
                throw other_kind{i + 1};
            } catch (const other_kind& middle) {
                wait_somewhere(place, found);
                try {
                    wait_somewhere(place, found);
                    throw std::to_string(i);
                } catch (const std::string& inner) {
                    wait_somewhere(place, found);
                    found.expect(inner == std::to_string(i));
                }
                wait_somewhere(place, found);
                found.expect(middle.number == i + 1);
            }
            wait_somewhere(place, found);
            try {
                throw;  // the outer exception is the current one again
            } catch (const tagged& again) {
                found.expect(again.number == i && &again == &outer);
            }
        }
    });
}

// A destructor that waits while an exception propagates past it.
struct waits_when_destroyed {
    const crossroads& place;
    findings& found;
    int in_flight;  // exceptions that should be in flight at that time

    ~waits_when_destroyed() {
        found.expect(std::uncaught_exceptions() == in_flight);
        wait_somewhere(place, found);
        found.expect(std::uncaught_exceptions() == in_flight);
        wait_somewhere(place, found);
        found.expect(std::uncaught_exceptions() == in_flight);
    }
};

TEST_P(ExceptionState, UncaughtExceptionsIsRightWhenDestructorsWait) {
    tell_many(rt(), scaled(1000), [](int i, const crossroads& place, findings& found) {
        { const waits_when_destroyed normally{place, found, 0}; }
        try {
            const waits_when_destroyed last{place, found, 1};
            const waits_when_destroyed first{place, found, 1};
            throw tagged(i);
        } catch (const tagged& e) {
            found.expect(e.number == i);
            { const waits_when_destroyed in_handler{place, found, 0}; }
        }
    });
}

// A destructor that throws and catches its own exception, with waits, while another exception
// propagates past it.
struct throws_and_catches_when_destroyed {
    const crossroads& place;
    findings& found;
    int number;

    ~throws_and_catches_when_destroyed() {
        try {
            const waits_when_destroyed both_fly{place, found, 2};
            throw other_kind{number};
        } catch (const other_kind& e) {
            found.expect(std::uncaught_exceptions() == 1);
            wait_somewhere(place, found);
            found.expect(e.number == number && std::uncaught_exceptions() == 1);
        }
        wait_somewhere(place, found);
        found.expect(std::uncaught_exceptions() == 1);
    }
};

TEST_P(ExceptionState, UnwindingKeepsExceptionsOfDestructorsSeparate) {
    tell_many(rt(), scaled(500), [](int i, const crossroads& place, findings& found) {
        try {
            const throws_and_catches_when_destroyed outer{place, found, i + 1};
            const throws_and_catches_when_destroyed inner{place, found, i + 2};
            throw tagged(i);
        } catch (const tagged& e) {
            found.expect(e.number == i);
        }
    });
}

void throw_at_depth(int depth, int number, const crossroads& place, findings& found) {
    if (depth == 0) throw tagged(number);
    const waits_when_destroyed here{place, found, 1};
    throw_at_depth(depth - 1, number, place, found);
}

TEST_P(ExceptionState, UnwindingManyFramesWaitsInEach) {
    tell_many(rt(), scaled(100), [](int i, const crossroads& place, findings& found) {
        try {
            throw_at_depth(40, i, place, found);
        } catch (const tagged& e) {
            found.expect(e.number == i);
        }
    });
}

TEST_P(ExceptionState, NestedExceptionsUnfoldInOrder) {
    tell_many(rt(), scaled(500), [](int i, const crossroads& place, findings& found) {
        std::string unfolded;
        try {
            try {
                try {
                    throw tagged(i);
                } catch (...) {
                    wait_somewhere(place, found);
                    std::throw_with_nested(std::runtime_error("while weaving"));
                }
            } catch (...) {
                wait_somewhere(place, found);
                std::throw_with_nested(std::logic_error("while dyeing"));
            }
        } catch (const std::logic_error& outer) {
            wait_somewhere(place, found);
            unfolded += outer.what();
            try {
                std::rethrow_if_nested(outer);
            } catch (const std::runtime_error& middle) {
                wait_somewhere(place, found);
                unfolded += std::string(", ") + middle.what();
                try {
                    std::rethrow_if_nested(middle);
                } catch (const tagged& inner) {
                    wait_somewhere(place, found);
                    unfolded += inner.number == i ? ", mine" : ", another's";
                }
            }
        }
        found.expect(unfolded == "while dyeing, while weaving, mine");
    });
}

TEST_P(ExceptionState, AGreenThreadStartedInAHandlerStartsClean) {
    findings found;
    rt().run([&] {
        const crossroads place;
        wait_group children;
        try {
            throw tagged(1);
        } catch (const tagged& e) {
            for (int i = 0; i < 200; ++i) {
                children.go([&] {
                    found.expect(std::current_exception() == nullptr && std::uncaught_exceptions() == 0);
                    wait_somewhere(place, found);
                    found.expect(std::current_exception() == nullptr && std::uncaught_exceptions() == 0);
                });
                wait_somewhere(place, found);
                found.expect(e.number == 1);
            }
            children.wait();
            found.expect(std::current_exception() != nullptr);
        }
    });
    EXPECT_EQ(found.wrong, 0);
}

// A green thread that is abandoned inside its handler leaves nothing to those that run on that OS
// thread afterwards.
TEST_P(ExceptionState, AnAbandonedHandlerLeavesNothingBehind) {
    if (built_with_asan) GTEST_SKIP() << "abandoned exceptions are leaks, as they should be";
    const chan<int> never;
    const int rounds = scaled(10);
    for (int round = 0; round < rounds; ++round) {
        park(20, [&] {
            for (int i = 0; i < 20; ++i) {
                rt().go([&never, i] {
                    try {
                        throw i;
                    } catch (int) {
                        never.recv();
                    }
                });
            }
        });
        EXPECT_EQ(rt().abandon(), 20U);
        rt().start();
        EXPECT_TRUE(rt().run([] { return std::current_exception() == nullptr && std::uncaught_exceptions() == 0; }));
    }
}

// Every second green thread ends inside a scope that an exception left. Its stack and G are reused
// at once.
TEST_P(ExceptionState, StartsAndEndsDuringHandlingKeepStatesSeparate) {
    const int waves = scaled(50);
    findings found;
    rt().run([&] {
        const crossroads place;
        for (int wave = 0; wave < waves; ++wave) {
            wait_group all;
            for (int i = 0; i < 50; ++i) {
                all.go([&, i] {
                    found.expect(std::current_exception() == nullptr && std::uncaught_exceptions() == 0);
                    if (i % 2 == 0) {
                        try {
                            throw tagged(i);
                        } catch (const tagged& e) {
                            wait_somewhere(place, found);
                            found.expect(e.number == i);
                            return;
                        }
                    }
                    wait_somewhere(place, found);
                });
            }
            all.wait();
        }
    });
    EXPECT_EQ(found.wrong, 0);
}

}  // namespace
}  // namespace weft::test
