// os_linux_test.cc: pages, threads, futexes, fences and output do what the contract says.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "os/commit.h"
#include "os/os.h"
#include "os/stack_bounds_linux.h"
#include "support/guards.h"

namespace weft::detail::os {
namespace {

// Returns the signal that a child gets when it touches address, or 0.
int touch_in_child(volatile char* address) {
    const pid_t child = fork();
    if (child == 0) {
        for (const int fault : {SIGSEGV, SIGBUS}) std::signal(fault, [](int number) { _exit(number); });
        *address = 1;
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Pages : public ::testing::Test {
protected:
    ~Pages() override { unmap_pages(memory_, size_); }

    const std::size_t size_ = 4 * page_size();
    char* const memory_ = static_cast<char*>(map_pages(size_, true));
};

TEST_F(Pages, MappedPagesAreZeroAndWritable) {
    ASSERT_NE(memory_, nullptr);
    for (std::size_t i = 0; i < size_; ++i) ASSERT_EQ(memory_[i], 0);
    std::memset(memory_, 1, size_);
}

TEST_F(Pages, DiscardedPagesReadAsZero) {
    std::memset(memory_, 1, size_);
    discard_pages(memory_, page_size());
    EXPECT_EQ(memory_[0], 0);
    EXPECT_EQ(memory_[page_size()], 1);
}

TEST_F(Pages, AProtectedPageFaultsAndItsNeighboursDoNot) {
    ASSERT_TRUE(protect_pages(memory_ + page_size(), page_size()));
    EXPECT_EQ(touch_in_child(memory_ + page_size()), SIGSEGV);
    EXPECT_EQ(touch_in_child(memory_ + 2 * page_size() - 1), SIGSEGV);
    EXPECT_EQ(touch_in_child(memory_ + page_size() - 1), 0);
    EXPECT_EQ(touch_in_child(memory_ + 2 * page_size()), 0);
}

TEST_F(Pages, AGuardRegionFaultsAndItsNeighboursDoNot) {
    if (!test::guard_regions_work()) GTEST_SKIP() << "this system has no guard regions";
    ASSERT_TRUE(guard_region(memory_ + page_size(), page_size()));
    EXPECT_EQ(touch_in_child(memory_ + page_size()), SIGSEGV);
    EXPECT_EQ(touch_in_child(memory_ + 2 * page_size() - 1), SIGSEGV);
    EXPECT_EQ(touch_in_child(memory_ + page_size() - 1), 0);
    EXPECT_EQ(touch_in_child(memory_ + 2 * page_size()), 0);
}

TEST(OsFailure, TheNthMappingFailsAndNoOther) {
    for (int n = 1; n <= 3; ++n) {
        fail_nth_for_test(failure::map, n);
        for (int i = 1; i <= 5; ++i) {
            errno = 0;
            void* memory = map_pages(page_size(), false);
            EXPECT_EQ(memory == nullptr, i == n) << "call " << i << " of failure " << n;
            if (memory == nullptr) {
                EXPECT_EQ(errno, ENOMEM);
            } else {
                unmap_pages(memory, page_size());
            }
        }
    }
}

TEST(OsFailure, AFailedUnmapEmptiesThePagesAndIsRetried) {
    unmap_kept_pages();
    ASSERT_EQ(kept_pages_for_test(), 0U);
    const std::size_t page = page_size();
    auto* first = static_cast<char*>(map_pages(2 * page, true));
    auto* second = static_cast<char*>(map_pages(page, false));
    std::memset(first, 1, 2 * page);
    std::memset(second, 1, page);
    fail_nth_for_test(failure::unmap, 1);
    unmap_pages(first, 2 * page);
    EXPECT_EQ(kept_pages_for_test(), 2 * page);
    EXPECT_EQ(first[0] + first[page], 0);
    fail_nth_for_test(failure::unmap, 2);  // the first retry
    unmap_pages(second, page);
    EXPECT_EQ(kept_pages_for_test(), 2 * page);
    unmap_pages(map_pages(page, false), page);
    EXPECT_EQ(kept_pages_for_test(), 0U);
    EXPECT_FALSE(is_readable(first) && is_readable(first + page) && is_readable(second));
}

TEST(OsFailure, FailedUnmapsAreRetriedInTurn) {
    unmap_kept_pages();
    const std::size_t page = page_size();
    void* ranges[3];
    for (void*& range : ranges) {
        range = map_pages(page, false);
        ASSERT_NE(range, nullptr);
    }
    for (void* range : ranges) {
        fail_nth_for_test(failure::unmap, 1);
        unmap_pages(range, page);
    }
    EXPECT_EQ(kept_pages_for_test(), 3 * page);
    fail_nth_for_test(failure::unmap, 1);
    unmap_kept_pages();
    EXPECT_EQ(kept_pages_for_test(), 3 * page) << "the attempts end with the first that fails";
    fail_nth_for_test(failure::unmap, 3);
    unmap_kept_pages();
    EXPECT_EQ(kept_pages_for_test(), page) << "the one that failed comes last";
    unmap_kept_pages();
    EXPECT_EQ(kept_pages_for_test(), 0U);
}

TEST(OsFailure, TheNthThreadFailsAndNoOther) {
    const auto body = [](void* count) -> void* {
        static_cast<std::atomic<int>*>(count)->fetch_add(1);
        return nullptr;
    };
    std::atomic<int> ran{0};
    fail_nth_for_test(failure::thread, 2);
    for (int i = 1; i <= 3; ++i) {
        thread_id id = 0;
        const int error = start_thread(id, body, &ran);
        EXPECT_EQ(error, i == 2 ? EAGAIN : 0);
        if (error == 0) join_thread(id);
    }
    EXPECT_EQ(ran.load(), 2);
}

TEST(OsThread, SignalsOfTheProgramAreBlockedAndFaultsAreNot) {
    sigset_t mask;
    thread_id id = 0;
    ASSERT_EQ(start_thread(
                  id,
                  [](void* out) -> void* {
                      pthread_sigmask(SIG_SETMASK, nullptr, static_cast<sigset_t*>(out));
                      return nullptr;
                  },
                  &mask),
              0);
    join_thread(id);
    for (const int blocked : {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGALRM, SIGUSR1, SIGPIPE}) {
        EXPECT_EQ(sigismember(&mask, blocked), 1) << blocked;
    }
    for (const int open : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
        EXPECT_EQ(sigismember(&mask, open), 0) << open;
    }
    sigset_t mine;
    pthread_sigmask(SIG_SETMASK, nullptr, &mine);
    EXPECT_EQ(sigismember(&mine, SIGTERM), 0) << "the caller's own mask changed";
}

TEST(OsThread, AThreadKnowsTheBoundsOfItsStack) {
    const void* low = nullptr;
    std::size_t size = 0;
    thread_stack_bounds(low, size);
    const auto at = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    EXPECT_GT(at, reinterpret_cast<uintptr_t>(low));
    EXPECT_LT(at, reinterpret_cast<uintptr_t>(low) + size);
}

// Where the C library does not say, because a system call is refused, the kernel does.
TEST(OsThread, TheKernelsMapHasTheSameBounds) {
    const auto compare = [](bool is_first) {
        const void* low = nullptr;
        std::size_t size = 0;
        ASSERT_EQ(thread_stack_bounds(low, size), 0);
        const void* low_in_map = nullptr;
        std::size_t size_in_map = 0;
        ASSERT_TRUE(stack_bounds_by_map(low_in_map, size_in_map));
        const auto end = reinterpret_cast<uintptr_t>(low) + size;
        const auto end_in_map = reinterpret_cast<uintptr_t>(low_in_map) + size_in_map;
        // The mapping also has the arguments of the program, or what the C library keeps for the
        // thread.
        EXPECT_GE(end_in_map, end);
        EXPECT_LT(end_in_map, end + (std::size_t{1} << 20));
        if (is_first) {
            EXPECT_GE(size_in_map, std::size_t{64} << 10);
        } else {
            EXPECT_EQ(low_in_map, low);
        }
    };
    compare(::getpid() == static_cast<pid_t>(current_tid()));
    std::thread([&] { compare(false); }).join();
}

TEST(OsThread, AThreadsNameIsCutAtFifteenBytes) {
    std::string name(16, '\0');
    thread_id id = 0;
    ASSERT_EQ(start_thread(
                  id,
                  [](void* out) -> void* {
                      name_thread("a-name-that-is-too-long");
                      pthread_getname_np(pthread_self(), static_cast<std::string*>(out)->data(), 16);
                      return nullptr;
                  },
                  &name),
              0);
    join_thread(id);
    EXPECT_STREQ(name.c_str(), "a-name-that-is-");
}

TEST(OsFutex, AWaitOnAnotherValueReturnsAtOnce) {
    atomic<uint32_t> word{1};
    EXPECT_TRUE(futex_wait(word, 2, INT64_MAX));
}

TEST(OsFutex, OnlyAPassedDeadlineReturnsFalse) {
    atomic<uint32_t> word{1};
    EXPECT_FALSE(futex_wait(word, 1, 1));
    const int64_t deadline_ns = monotonic_ns() + 1'000'000;
    while (futex_wait(word, 1, deadline_ns)) {}
    EXPECT_GE(monotonic_ns(), deadline_ns);
}

TEST(OsFence, TheHeavyFenceWorksIffReportedAvailable) { EXPECT_EQ(heavy_fence(), has_heavy_fence()); }

TEST(OsOutput, WritesEverythingUnlessAWriteFails) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(pipe(ends), 0);
    write_all(ends[1], "a report", 8);
    close(ends[1]);
    char got[16] = {};
    EXPECT_EQ(read(ends[0], got, sizeof(got)), 8);
    EXPECT_STREQ(got, "a report");
    close(ends[0]);
    write_all(-1, "for nobody", 10);
}

TEST(OsClock, NeverGoesBack) {
    int64_t before = monotonic_ns();
    for (int i = 0; i < 10'000; ++i) {
        const int64_t now = monotonic_ns();
        ASSERT_GE(now, before);
        before = now;
    }
}

}  // namespace
}  // namespace weft::detail::os
