// local_test.cc: weft::local: each green thread has its own value, from its first use to its end.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/crossroads.h"
#include "support/eventually.h"
#include "support/leaks.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/stopping.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using Local = procs_test;
WEFT_SWEEP(Local);

// Records what happened, in order.
class journal {
public:
    void add(std::string what) {
        const std::lock_guard hold(mutex_);
        entries_.push_back(std::move(what));
    }

    [[nodiscard]] std::vector<std::string> entries() {
        const std::lock_guard hold(mutex_);
        return entries_;
    }

private:
    mutex mutex_;
    std::vector<std::string> entries_;  // guarded by mutex_
};

using entries = std::vector<std::string>;

// Records its destruction.
struct mourned {
    journal* book;
    std::string name;

    mourned(journal& to, std::string who) : book(&to), name(std::move(who)) {}

    mourned(const mourned&) = delete;
    mourned& operator=(const mourned&) = delete;

    ~mourned() { book->add(name); }
};

// ---- Initial values.

local<int> counter;  // static storage duration

TEST_P(Local, EachGreenThreadHasItsOwnAcrossMigration) {
    const int wrong = rt().run([] {
        std::atomic<int> mistakes = 0;
        const crossroads place;
        wait_group all;
        for (int who = 0; who < 20; ++who) {
            all.go([&, who] {
                const int* const where = &counter.get();
                mistakes += *where != 0;
                *counter = 1000 * who;
                for (int i = 1; i <= 50; ++i) {
                    place.cross();
                    mistakes += ++*counter != 1000 * who + i;
                    mistakes += &counter.get() != where;
                }
            });
        }
        all.wait();
        return mistakes.load();
    });
    EXPECT_EQ(wrong, 0);
}

TEST_P(Local, ReusedGreenThreadsGetNewValues) {
    const int n = scaled(2000);
    std::atomic<int> mistakes = 0;
    rt().run([&] {
        for (int i = 0; i < n; ++i) {
            wait_group one;
            one.go([&] { mistakes += counter.get()++ != 0; });
            one.wait();
        }
    });
    EXPECT_EQ(mistakes, 0);
}

struct immovable {
    explicit immovable(int v) : value(v) {}

    immovable(const immovable&) = delete;
    immovable& operator=(const immovable&) = delete;
    int value;
};

struct alignas(256) aligned_widely {
    char content[3] = {1, 2, 3};
};

TEST_P(Local, ValuesStartWithTheirInitializer) {
    rt().run([] {
        const local<int> zero;
        const local<std::string> text(std::string("begin"));
        const local made([] { return 42L; });
        const local<long> converted([] { return short{7}; });
        const local<immovable> fixed([] { return immovable(9); });
        const local<std::unique_ptr<int>> owner([] { return std::make_unique<int>(11); });
        const local<aligned_widely> aligned;
        EXPECT_EQ(*zero, 0);
        EXPECT_EQ(*text, "begin");
        EXPECT_EQ(text->size(), 5U);
        EXPECT_EQ(made.get()(), 42) << "without a type to make, the function itself is the value";
        EXPECT_EQ(*converted, 7);
        EXPECT_EQ(fixed->value, 9);
        EXPECT_EQ(**owner, 11);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&*aligned) % alignof(aligned_widely), 0U);
        *text += "!";
        EXPECT_EQ(*text, "begin!");
        EXPECT_EQ(async([&] { return *text; }).get(), "begin");
    });
}

TEST_P(Local, IsCreatedAtItsFirstUse) {
    std::atomic<int> made = 0;
    rt().run([&] {
        const local<int> lazy([&] { return ++made; });
        wait_group all;
        for (int i = 0; i < 10; ++i) {
            all.go([&lazy, i] {
                EXPECT_FALSE(lazy.has_value());
                if (i % 2 == 0) return;
                const int mine = *lazy;
                weft::yield();
                EXPECT_EQ(*lazy, mine);
                EXPECT_TRUE(lazy.has_value());
            });
        }
        all.wait();
    });
    EXPECT_EQ(made, 5);
}

TEST_P(Local, TheFactoryMayParkAndUseOtherLocals) {
    rt().run([] {
        const local<int> base(5);
        const chan<int> c;
        const local<int> sum([&] {
            const int before = *base;
            return before + *c.recv();
        });
        wait_group all;
        for (int i = 0; i < 10; ++i) {
            all.go([&sum] {
                const int got = *sum;
                EXPECT_GE(got, 5);
                EXPECT_LT(got, 15);
            });
        }
        for (int i = 0; i < 10; ++i) c.send(i);
        all.wait();
    });
}

TEST_P(Local, AnExceptionOfTheFactoryAllowsAnotherTry) {
    rt().run([] {
        int calls = 0;
        const local<int> fragile([&calls] {
            if (++calls < 3) throw std::runtime_error("not yet");
            return calls;
        });
        EXPECT_THROW(static_cast<void>(*fragile), std::runtime_error);
        EXPECT_FALSE(fragile.has_value());
        EXPECT_THROW(static_cast<void>(*fragile), std::runtime_error);
        EXPECT_EQ(*fragile, 3);
        EXPECT_EQ(*fragile, 3);
    });
}

TEST_P(Local, ManyLocalsMayExist) {
    constexpr int n = 200;
    rt().run([] {
        std::vector<std::unique_ptr<local<int>>> all;
        for (int i = 0; i < n; ++i) all.push_back(std::make_unique<local<int>>(i));
        for (int i = n - 1; i >= 0; --i) *all[static_cast<std::size_t>(i)]->operator->() += 1000;
        for (int i = 0; i < n; ++i) EXPECT_EQ(**all[static_cast<std::size_t>(i)], 1000 + i);
    });
}

// ---- Destruction.

TEST_P(Local, ValuesAreDestroyedWhenTheirGreenThreadEnds) {
    const long before = tracked::alive();
    const local<tracked> thing([] { return tracked(1); });
    const int n = scaled(500);
    for (int i = 0; i < n; ++i) {
        rt().go([&thing, i] {
            thing->value = i;
            weft::yield();
        });
    }
    rt().drain();
    EXPECT_EQ(tracked::alive(), before);
}

TEST_P(Local, AJoinReturnsAfterTheirDestruction) {
    const long before = tracked::alive();
    const local<tracked> thing([] { return tracked(1); });
    rt().run([&] {
        for (int i = 0; i < 100; ++i) {
            wait_group group;
            group.go([&] { thing->value = 1; });
            group.wait();
            EXPECT_EQ(tracked::alive(), before);
            async([&] { thing->value = 2; }).get();
            EXPECT_EQ(tracked::alive(), before);
        }
    });
    rt().run([&] { thing->value = 3; });
    EXPECT_EQ(tracked::alive(), before);
}

TEST_P(Local, AreDestroyedInReverseOrderByTheirGreenThread) {
    journal book;
    uint64_t ran_as = 0;
    std::atomic<uint64_t> ended_as = 0;
    const auto by_itself = [&](const char* name) { return [&book, name] { return mourned(book, name); }; };

    struct witness {
        std::atomic<uint64_t>* seen;

        explicit witness(std::atomic<uint64_t>& to) : seen(&to) {}

        ~witness() {
            weft::yield();  // it may park
            seen->store(this_g::id());
        }
    };

    const local<mourned> a(by_itself("a"));
    const local<mourned> b(by_itself("b"));
    const local<mourned> c(by_itself("c"));
    const local<witness> id([&] { return witness(ended_as); });
    rt().go([&, held = std::make_unique<mourned>(book, "closure")] {
        ran_as = this_g::id();
        static_cast<void>(*b);
        static_cast<void>(*id);
        static_cast<void>(*c);
        static_cast<void>(*a);
        static_cast<void>(*b);
    });
    rt().drain();
    EXPECT_EQ(book.entries(), (entries{"closure", "a", "c", "b"}));
    EXPECT_EQ(ended_as, ran_as);
}

TEST_P(Local, ADestructorMayUseOlderLocals) {
    rt().run([] {
        static std::vector<int> seen;
        seen.clear();
        static const local<int>* older = nullptr;
        const local<int> first(0);
        older = &first;

        struct uses_older {
            ~uses_older() { seen.push_back((**older)++); }
        };

        const local<uses_older> second;
        wait_group one;
        one.go([&] {
            *first = 5;
            static_cast<void>(*second);
        });
        one.wait();
        EXPECT_EQ(seen, (std::vector{5}));
    });
}

// Each of the two uses the other when it is destroyed.
struct immortal {
    static inline const local<immortal>* one = nullptr;
    static inline const local<immortal>* two = nullptr;
    static inline std::atomic<int> destroyed = 0;
    static inline std::vector<const immortal*> left;  // keeps what is left reachable for the leak checker

    immortal() { left.push_back(this); }

    ~immortal() {
        left.erase(std::find(left.begin(), left.end(), this));
        ++destroyed;
        static_cast<void>(**one);
        static_cast<void>(**two);
    }
};

TEST_P(Local, DestructorsMayMakeNewValuesForFourRounds) {
    leak_on_purpose();
    immortal::destroyed = 0;
    immortal::left.clear();
    const local<immortal> one;
    const local<immortal> two;
    immortal::one = &one;
    immortal::two = &two;
    ::testing::internal::CaptureStderr();
    rt().go([&] {
        static_cast<void>(*one);
        static_cast<void>(*two);
    });
    rt().drain();
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("weft: destructors of weft::local values made new values 4 times in a row"), std::string::npos)
        << said;
    EXPECT_GE(immortal::destroyed, 4);
    EXPECT_GE(immortal::left.size(), 1U);
}

TEST_P(Local, ResetDestroysTheValueAndTheNextUseMakesOne) {
    rt().run([] {
        const long before = tracked::alive();
        const local<tracked> thing([] { return tracked(3); });
        thing.reset();
        thing->value = 4;
        EXPECT_EQ(tracked::alive(), before + 1);
        thing.reset();
        EXPECT_EQ(tracked::alive(), before);
        EXPECT_FALSE(thing.has_value());
        EXPECT_EQ(thing->value, 3);
    });
}

// ---- Locals that come and go while green threads have values of them.

TEST_P(Local, AStaleValueIsNotTakenForThatOfANewLocal) {
    rt().run([] {
        const long before = tracked::alive();
        std::optional<local<tracked>> first;
        first.emplace([] { return tracked(1); });
        const chan<int> go_on;
        std::atomic<int> ready = 0;
        std::optional<local<std::string>> second;
        wait_group all;
        constexpr int n = 10;
        for (int i = 0; i < n; ++i) {
            all.go([&] {
                (*first)->value = 17;
                ++ready;
                go_on.recv();
                EXPECT_FALSE(second->has_value());
                EXPECT_EQ(**second, "second");
                **second += "!";
                EXPECT_EQ(**second, "second!");
            });
        }
        eventually([&] { return ready == n; });
        EXPECT_EQ(tracked::alive(), before + n);
        first.reset();
        EXPECT_EQ(tracked::alive(), before + n) << "they belong to green threads that live";
        second.emplace(std::string("second"));
        for (int i = 0; i < n; ++i) go_on.send(i);
        all.wait();
        EXPECT_EQ(tracked::alive(), before);
    });
}

TEST_P(Local, DestroyingALocalDestroysTheCallersValue) {
    rt().run([] {
        const long before = tracked::alive();
        for (int i = 0; i < 100; ++i) {
            const local<tracked> thing([i] { return tracked(i); });
            EXPECT_EQ(thing->value, i);
            EXPECT_EQ(tracked::alive(), before + 1);
        }
        EXPECT_EQ(tracked::alive(), before);
    });
}

TEST_P(Local, ConcurrentLocalsDoNotInterfere) {
    const int rounds = scaled(200);
    std::atomic<int> mistakes = 0;
    rt().run([&] {
        wait_group all;
        for (int who = 0; who < 16; ++who) {
            all.go([&, who] {
                for (int i = 0; i < rounds; ++i) {
                    const local<int> mine(who);
                    const local<std::string> text(std::to_string(who));
                    mistakes += *mine != who;
                    *mine = -1;
                    weft::yield();
                    mistakes += *mine != -1 || *text != std::to_string(who);
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(mistakes, 0);
}

// ---- Inheritance.

TEST_P(Local, ChildrenInheritOnlyOnRequest) {
    rt().run([] {
        const local<std::string> user(std::string("nobody"));
        const local<tracked> unique([] { return tracked(1); });
        *user = "anna";
        unique->value = 2;
        wait_group all;
        all.go([&] { EXPECT_EQ(*user, "nobody"); });
        all.go({.inherit_locals = true}, [&] {
            EXPECT_EQ(*user, "anna");
            EXPECT_EQ(unique->value, 1) << "cannot be copied";
            *user = "berta";
            // Also to grandchildren, and through the other ways to start one.
            EXPECT_EQ(async({.inherit_locals = true}, [&] { return *user; }).get(), "berta");
            EXPECT_EQ(async([&] { return *user; }).get(), "nobody");
        });
        all.wait();
        EXPECT_EQ(*user, "anna");
    });
    int ran = 0;
    rt().go({.inherit_locals = true}, [&] { ran = 1; });  // a plain thread has nothing to pass on
    rt().drain();
    EXPECT_EQ(ran, 1);
}

TEST_P(Local, InheritsTheValuesAtTheStartInOrder) {
    journal book;

    struct copied {
        journal* to;
        const char* name;
        bool copy = false;

        copied(journal& b, const char* n) : to(&b), name(n) {}

        copied(const copied& from) : to(from.to), name(from.name), copy(true) {}

        copied& operator=(const copied&) = delete;

        ~copied() {
            if (copy) to->add(name);
        }
    };

    rt().run([&] {
        const local<copied> a([&] { return copied(book, "a"); });
        const local<copied> b([&] { return copied(book, "b"); });
        const local<int> n;
        static_cast<void>(*b);
        static_cast<void>(*a);
        *n = 1;
        wait_group one;
        one.go({.inherit_locals = true}, [&] { EXPECT_EQ(*n, 1); });
        *n = 2;
        one.wait();
    });
    EXPECT_EQ(book.entries(), (entries{"a", "b"}));
}

TEST_P(Local, ACopyThatThrowsStartsNothing) {
    struct fragile {
        tracked held{0};
        fragile() = default;

        fragile(const fragile&) { throw std::runtime_error("no copy today"); }

        fragile& operator=(const fragile&) = delete;
    };

    const long before = tracked::alive();
    rt().run([] {
        const local<std::string> fine(std::string("fine"));
        const local<fragile> breaks;
        *fine += " and long enough for an allocation of its own";
        static_cast<void>(*breaks);
        wait_group all;
        for (int i = 0; i < 10; ++i) {
            EXPECT_THROW(all.go({.inherit_locals = true}, [] { ADD_FAILURE() << "started"; }), std::runtime_error);
        }
        all.wait();
    });
    EXPECT_EQ(tracked::alive(), before);
}

// ---- The end of the program.

TEST(LocalAtTheEnd, MainDestroysItsLocalsBeforeItReturns) {
    journal book;
    const local<mourned> thing([&] { return mourned(book, "local"); });
    const int code = weft::main([&] {
        static_cast<void>(*thing);
        return 3;
    });
    EXPECT_EQ(code, 3);
    EXPECT_EQ(book.entries(), (entries{"local"}));
}

TEST(LocalAtTheEnd, AbandonmentDestroysOnlyUnusedCopies) {
    struct counted {
        std::atomic<int>* destroyed;
        bool copy = false;

        explicit counted(std::atomic<int>& to) : destroyed(&to) {}

        counted(const counted& from) : destroyed(from.destroyed), copy(true) {}

        counted& operator=(const counted&) = delete;

        ~counted() { *destroyed += copy ? 100 : 1; }
    };

    std::atomic<int> destroyed = 0;
    const local<counted> thing([&] { return counted(destroyed); });
    runtime rt({.procs = 1, .retake = false});
    std::atomic<bool> runs = false;
    rt.go([&] {
        static_cast<void>(*thing);
        go({.inherit_locals = true}, [] { ADD_FAILURE() << "started"; });
        runs = true;
        compute_until_stopped();
        weft::yield();
        ADD_FAILURE() << "went on";
    });
    eventually([&] { return runs.load(); });
    EXPECT_EQ(rt.abandon(), 2U);
    EXPECT_EQ(destroyed, 100) << "the copy only: who has run is not unwound";
}

}  // namespace
}  // namespace weft::test
