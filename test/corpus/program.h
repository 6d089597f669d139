// program.h: the programs of the corpus, each with a bug that really happened and each with its fix.
//
// A program is a class. run() is its main green thread; it starts others, which refer to its members; it is told whether it is to be the
// buggy one or the fixed one, and says in one place, by buggy(), where the two differ.
//
// Most of the bugs need a bad order of events. A program names the events that matter, its moments, and its green threads wait for them:
// so the buggy version fails each time, on any number of processors. The fixed version is run both ways: through the same order, if it still
// can happen, and free, when nobody waits for moments.
//
// What is allocated belongs to the program, and not to a green thread's stack: of one that never ends it would be a leak.
//
//     class hang : public program {
//     public:
//         using program::program;
//         void run() override { … }      // on a green thread called "main"
//         void check() override { … }    // the fixed version, when all its green threads have ended
//     };
//     WEFT_BUG(Project123, hang, {"main", "mutex lock"}, {"worker", "chan send"});
//
// The last line makes two tests. TheBuggyOneHangs runs the program until nothing can happen in its runtime any more, and compares what the
// dump then says of each green thread, and of no other, with the list. TheFixedOneEnds runs it many times to the end.
//
// Who forgets to unlock is found even if nobody comes to lock: destroying a locked mutex is fatal. WEFT_MISSING_UNLOCK(Project123, hang) makes a
// third test of that; leave_locked() is then the part of the program that leaves its mutex locked.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "death/death.h"
#include "support/eventually.h"

namespace weft::test {

// Which version of a program, and whether its moments are waited for.
struct setting {
    bool buggy;
    bool forced;
};

class program {
public:
    explicit program(setting s) noexcept : setting_(s) {}

    virtual ~program() = default;
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    virtual void run() = 0;

    virtual void check() {}

    // A program whose bad order cannot happen any more once it is fixed says so by one of its own that is false.
    static constexpr bool order_survives_fix = true;

    [[nodiscard]] bool buggy() const noexcept { return setting_.buggy; }

    [[nodiscard]] bool forced() const noexcept { return setting_.forced; }

protected:
    // Starts f under a name. f and what it refers to live in the program.
    template <typename F>
    static void start(const char* name, F&& f) {
        weft::go({.name = name}, std::forward<F>(f));
    }

private:
    setting setting_;
};

// An event of the bad order: it has come when come() was called the given number of times.
class moment {
public:
    explicit moment(const program& of, int times = 1) : forced_(of.forced()) {
        if (forced_) left_.add(times);
    }

    void come() {
        if (forced_) left_.done();
    }

    void await() {
        if (forced_) left_.wait();
    }

private:
    const bool forced_;
    wait_group left_;
};

// A wait group with n pieces of work from the start.
struct group_of : wait_group {
    explicit group_of(int n) { add(n); }
};

// Returns once somebody waits to lock m, which others have locked shared: from now on readers wait, too.
inline void await_writer(shared_mutex& m) {
    eventually([&m] {
        if (!m.try_lock_shared()) return true;
        m.unlock_shared();
        return false;
    });
}

// What is sent where only the sending matters.
struct token {};

// Whether nobody holds m, now that everybody has ended.
template <typename Mutex>
[[nodiscard]] bool is_free(Mutex& m) {
    if (!m.try_lock()) return false;
    m.unlock();
    return true;
}

// A copy of value, of which another one is kept: what green threads that never end hold is then no leak, although nobody will free it.
template <typename T>
[[nodiscard]] T kept_for_ever(T value) {
    static std::vector<T>& kept = *new std::vector<T>;
    kept.push_back(value);
    return value;
}

// A green thread that waits for ever: its name, and what the dump says it waits for.
struct blocked {
    std::string who;
    std::string on;

    friend auto operator<=>(const blocked&, const blocked&) = default;

    friend std::ostream& operator<<(std::ostream& out, const blocked& b) { return out << b.who << " [" << b.on << ']'; }
};

using maker = std::unique_ptr<program> (*)(setting);

template <typename Program>
std::unique_ptr<program> make(setting s) {
    return std::make_unique<Program>(s);
}

// Runs p's run() on rt and returns once nothing can happen there any more: no green thread runs or may run, and there is no timer. Returns
// what is left, sorted; dump: the report it was read from. p and rt must not be used by anything else.
[[nodiscard]] std::vector<blocked> left_when_quiet(runtime& rt, program& p, std::string& dump);

// The two tests of a program.
void expect_hang(maker make, std::vector<blocked> expected);
void expect_end(maker make, bool forced_too);

// The process of a death test.
template <typename Program>
void leave_locked() {
    Program({.buggy = true, .forced = false}).leave_locked();
}

}  // namespace weft::test

#define WEFT_BUG(suite, Program, ...)                                                        \
    TEST(suite, TheBuggyOneHangs) { expect_hang(make<Program>, {__VA_ARGS__}); }             \
    TEST(suite, TheFixedOneEnds) { expect_end(make<Program>, Program::order_survives_fix); } \
    static_assert(true)

#define WEFT_MISSING_UNLOCK(suite, Program)                                                                       \
    using suite##DeathTest = DeathTest;                                                                           \
    TEST_F(suite##DeathTest, TheMutexDiesLocked) {                                                                \
        EXPECT_ABORT(leave_locked<Program>(), fatal_line("a weft::%smutex was destroyed while it was locked%s")); \
    }                                                                                                             \
    static_assert(true)
