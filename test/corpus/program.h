// program.h: the programs of the corpus, each in two versions: with a bug that really happened, and
// with its fix.
//
// A program is a class. run() is its main green thread, which starts others that refer to the
// program's members. The versions differ in one place, which asks buggy().
//
// Most bugs need a bad order of events. A program names the events that matter, its moments, and
// its green threads wait for them. So the buggy version fails each time, on any number of
// processors. The fixed version runs forced, through the same order if that is still possible, and
// free, without waits for moments.
//
// The program owns what it allocates, because a green thread that never ends would leak what its
// stack owns.
//
//     class hang : public program {
//     public:
//         using program::program;
//         void run() override { … }      // on a green thread called "main"
//         void check() override { … }    // the fixed version, when all its green threads have ended
//     };
//     WEFT_BUG(Project123, hang, {"main", "mutex lock"}, {"worker", "chan send"});
//
// The last line makes four tests. TheBuggyVersionHangs runs the program until nothing more can
// happen in its runtime. The green threads in a dump, and what each waits for, must then match the
// list exactly. TheFixedVersionEnds runs the program many times to its end. ASimulationFindsTheBug
// and NoSimulationFailsWithTheFix run it by weft::sim, without moments.
//
// A missing unlock is found even if no other thread locks afterwards, because destroying a locked
// mutex is fatal. WEFT_MISSING_UNLOCK(Project123, hang) makes a third test of that, which runs
// leave_locked(): the part of the program that leaves its mutex locked.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "death/death.h"
#include "support/build.h"
#include "support/eventually.h"

namespace weft::test {

// Which version of a program runs, and whether its moments are waited for.
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

    // False, by a member of the same name, in a program whose bad order is impossible once it is
    // fixed.
    static constexpr bool order_survives_fix = true;

    [[nodiscard]] bool buggy() const noexcept { return setting_.buggy; }

    [[nodiscard]] bool forced() const noexcept { return setting_.forced; }

protected:
    // Starts f under a name. f, and what it refers to, must belong to the program.
    template <typename F>
    static void start(const char* name, F&& f) {
        weft::go({.name = name}, std::forward<F>(f));
    }

private:
    setting setting_;
};

// An event of the bad order. It has happened when come() was called the given number of times.
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

// A wait group that starts with n pieces of work.
struct group_of : wait_group {
    explicit group_of(int n) { add(n); }
};

// Returns once a thread waits to lock m, which others hold shared. From then on new readers wait
// too.
inline void await_writer(shared_mutex& m) {
    eventually([&m] {
        if (!m.try_lock_shared()) return true;
        m.unlock_shared();
        return false;
    });
}

// A value for channels on which only the send matters.
struct token {};

// Whether m is free, after all threads have ended.
template <typename Mutex>
[[nodiscard]] bool is_free(Mutex& m) {
    if (!m.try_lock()) return false;
    m.unlock();
    return true;
}

// Returns a copy of value, and keeps another copy. So what green threads that never end refer to is
// no leak, although it is never freed. The search for leaks must not find the copy, because the
// original has none: it has another address where there is no sanitizer.
template <typename T>
[[nodiscard]] T kept_for_ever(T value) {
    constexpr uintptr_t mask = built_with_sanitizer ? 0 : ~uintptr_t{0};
    static const uintptr_t kept = reinterpret_cast<uintptr_t>(new std::vector<T>) ^ mask;
    reinterpret_cast<std::vector<T>*>(kept ^ mask)->push_back(value);
    return value;
}

// A green thread that waits for ever: its name, and what the dump says it waits for.
struct blocked {
    std::string who;
    std::string on;

    friend auto operator<=>(const blocked&, const blocked&) = default;

    friend std::ostream& operator<<(std::ostream& out, const blocked& b) { return out << b.who << " [" << b.on << ']'; }
};

// The address of a program in another form. In the original, nothing but the green threads has the
// program, and the search for leaks must not find its address elsewhere.
class hidden_program {
public:
    hidden_program(program& p) noexcept : hidden_(~reinterpret_cast<uintptr_t>(&p)) {}  // NOLINT: stands for p

    [[nodiscard]] program& operator*() const noexcept { return *reinterpret_cast<program*>(~hidden_); }

    [[nodiscard]] program* operator->() const noexcept { return &**this; }

private:
    uintptr_t hidden_;
};

using maker = std::unique_ptr<program> (*)(setting);

template <typename Program>
std::unique_ptr<program> make(setting s) {
    return std::make_unique<Program>(s);
}

// Runs p's run() on rt. Returns once nothing more can happen there: no green thread runs or is
// runnable, and there is no timer. Returns the green threads that are left, sorted. dump receives
// the report they were read from. Nothing else may use p and rt.
[[nodiscard]] std::vector<blocked> left_when_quiet(runtime& rt, hidden_program p, std::string& dump);

// The tests of a program.
void expect_hang(maker make, std::vector<blocked> expected);
void expect_end(maker make, bool forced_too);

// The same by weft::sim, without moments: it has to find the bad order by itself.
void expect_found(maker make);
void expect_never_found(maker make);

// The child process of a death test.
template <typename Program>
void leave_locked() {
    Program({.buggy = true, .forced = false}).leave_locked();
}

}  // namespace weft::test

#define WEFT_BUG(suite, Program, ...)                                                            \
    TEST(suite, TheBuggyVersionHangs) { expect_hang(make<Program>, {__VA_ARGS__}); }             \
    TEST(suite, TheFixedVersionEnds) { expect_end(make<Program>, Program::order_survives_fix); } \
    TEST(suite, ASimulationFindsTheBug) { expect_found(make<Program>); }                         \
    TEST(suite, NoSimulationFailsWithTheFix) { expect_never_found(make<Program>); }              \
    static_assert(true)

#define WEFT_MISSING_UNLOCK(suite, Program)                                                                       \
    using suite##DeathTest = DeathTest;                                                                           \
    TEST_F(suite##DeathTest, TheMutexIsDestroyedLocked) {                                                         \
        EXPECT_ABORT(leave_locked<Program>(), fatal_line("a weft::%smutex was destroyed while it was locked%s")); \
    }                                                                                                             \
    static_assert(true)
