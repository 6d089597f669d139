// signal_test.cc: which thread gets which signal, and that handlers of other code are called.

#include <dirent.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "os/signals.h"
#include "support/build.h"
#include "support/emulator.h"
#include "support/eventually.h"

namespace weft::test {
namespace {

std::set<std::string> tasks() {
    std::set<std::string> found;
    DIR* all = ::opendir("/proc/self/task");
    while (const dirent* entry = ::readdir(all)) {
        if (entry->d_name[0] != '.') found.insert(entry->d_name);
    }
    ::closedir(all);
    return found;
}

// The signals that a thread blocks, as bits, bit 0 for signal 1. 0 if the thread is gone.
uint64_t blocked_by(const std::string& task) {
    std::ifstream status("/proc/self/task/" + task + "/status");
    for (std::string word; status >> word;) {
        if (word == "SigBlk:") {
            status >> word;
            return std::stoull(word, nullptr, 16);
        }
    }
    return 0;
}

constexpr uint64_t bit(int signal) { return uint64_t{1} << (signal - 1); }

// Ms also take SIGURG, which dumps send to them.
TEST(Signals, RuntimeThreadsTakeOnlyFaults) {
    const std::set<std::string> before = tasks();
    runtime rt({.procs = 2});
    rt.run([] {
        const pin here;  // starts the thread that makes threads
        wait_group all;
        for (int i = 0; i < 4; ++i) all.go([] { blocking(hand_off::at_once, [] { ::usleep(20'000); }); });
        all.wait();
    });
    const uint64_t faults =
        bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGTRAP) | bit(SIGABRT) | bit(SIGSYS);
    const uint64_t cannot_be_blocked = bit(SIGKILL) | bit(SIGSTOP);
    const uint64_t all_of_old = bit(32) - 1;
    const uint64_t wanted = all_of_old & ~faults & ~cannot_be_blocked;
    const uint64_t wanted_of_ms = detail::os::can_ask ? wanted & ~bit(SIGURG) : wanted;
    int ours = 0;
    int ms = 0;
    for (const std::string& task : tasks()) {
        if (before.contains(task)) continue;
        bool seen = false;
        bool is_m = false;
        // libc blocks all signals in a thread that is just starting or ending.
        eventually([&] {
            const uint64_t blocked = blocked_by(task);
            const uint64_t of_old = blocked & all_of_old;
            seen = blocked != 0;
            is_m = of_old == wanted_of_ms;
            return is_m || of_old == wanted || !tasks().contains(task);
        });
        ours += seen ? 1 : 0;
        ms += is_m ? 1 : 0;
    }
    EXPECT_GE(ours, 3);  // an M, the monitor, the maker
    EXPECT_GE(ms, 1);
}

TEST(Signals, ABrokenPipeIsAnErrorOnRuntimeThreads) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ::close(ends[0]);
    runtime rt({.procs = 2});
    rt.run([&] {
        wait_group all;
        for (int i = 0; i < 8; ++i) {
            all.go([&] {
                errno = 0;
                EXPECT_EQ(::write(ends[1], "x", 1), -1);
                EXPECT_EQ(errno, EPIPE);
            });
        }
        all.wait();
    });
    ::close(ends[1]);
}

TEST(Signals, EveryMHasALargeEnoughAlternateStack) {
    if (built_with_sanitizer) GTEST_SKIP() << "sanitizers have alternate stacks of their own";
    const std::size_t wanted = std::size_t{64} * 1024 + ::getauxval(AT_MINSIGSTKSZ);
    runtime rt({.procs = 2});
    rt.run([&] {
        wait_group all;
        for (int i = 0; i < 4; ++i) {
            all.go([&] {
                stack_t there{};
                EXPECT_EQ(::sigaltstack(nullptr, &there), 0);
                EXPECT_EQ(there.ss_flags & SS_DISABLE, 0);
                EXPECT_GE(there.ss_size, wanted);
            });
        }
        all.wait();
    });
}

// ---- Faults of other code.

void* guarded_page = nullptr;
int short_file = -1;
volatile sig_atomic_t seen_before = 0;
volatile sig_atomic_t seen_after = 0;
struct sigaction replaced{};

void open_page() { ::mprotect(guarded_page, 4096, PROT_READ | PROT_WRITE); }

void from_before(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {
    seen_before = seen_before + 1;
    open_page();
}

void from_after(int signal, siginfo_t* info, void* context) {
    seen_after = seen_after + 1;
    replaced.sa_sigaction(signal, info, context);
}

struct sigaction action_of(void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action{};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    return action;
}

// In a separate process, where the first runtime starts after the first handler was installed.
TEST(SignalsDeathTest, AFaultReachesEarlierAndLaterHandlers) {
    if (built_with_sanitizer) GTEST_SKIP() << "sanitizers have handlers of their own";
    start_children_in_emulator();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            guarded_page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            const struct sigaction first = action_of(&from_before);
            ::sigaction(SIGSEGV, &first, nullptr);
            runtime rt({.procs = 1});
            rt.run([] { *static_cast<volatile int*>(guarded_page) = 1; });
            const bool reached_first = seen_before == 1;
            const struct sigaction second = action_of(&from_after);
            ::sigaction(SIGSEGV, &second, &replaced);
            ::mprotect(guarded_page, 4096, PROT_NONE);
            rt.run([] { *static_cast<volatile int*>(guarded_page) = 1; });
            rt.abandon();
            ::_exit(reached_first && seen_before == 2 && seen_after == 1 ? 7 : 1);
        },
        ::testing::ExitedWithCode(7), "^$");
}

// A page beyond the end of a file: touching it is a bus error until the file is extended.
void make_longer(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {
    seen_before = seen_before + 1;
    if (::ftruncate(short_file, 4096) != 0) ::_exit(2);
}

TEST(SignalsDeathTest, ABusErrorReachesAnEarlierHandler) {
    if (built_with_sanitizer) GTEST_SKIP() << "sanitizers have handlers of their own";
    start_children_in_emulator();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            short_file = ::fileno(std::tmpfile());  // not memfd_create, which old kernels lack
            void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, short_file, 0);
            const struct sigaction first = action_of(&make_longer);
            ::sigaction(SIGBUS, &first, nullptr);
            runtime rt({.procs = 1});
            rt.run([&] { *static_cast<volatile int*>(page) = 1; });
            rt.abandon();
            ::_exit(seen_before == 1 ? 7 : 1);
        },
        ::testing::ExitedWithCode(7), "^$");
}

}  // namespace
}  // namespace weft::test
