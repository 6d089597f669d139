// thread_maker_test.cc: threads that another thread makes.
#include "lifecycle/thread_maker.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

void* count_up(void* counter) {
    static_cast<std::atomic<int>*>(counter)->fetch_add(1);
    return nullptr;
}

TEST(ThreadMaker, WithoutItsThreadTheCallerCreatesThreads) {
    thread_maker maker;
    std::atomic<int> ran{0};
    os::thread_id id = 0;
    ASSERT_EQ(maker.make(id, &count_up, &ran), 0);
    os::join_thread(id);
    EXPECT_EQ(ran.load(), 1);
    maker.end();
}

TEST(ThreadMaker, ReportsAFailureToItsCaller) {
    thread_maker maker;
    os::fail_nth_for_test(os::failure::thread, 1);
    maker.start();  // fails
    std::atomic<int> ran{0};
    os::thread_id id = 0;
    ASSERT_EQ(maker.make(id, &count_up, &ran), 0);
    os::join_thread(id);
    maker.start();
    os::fail_nth_for_test(os::failure::thread, 1);
    EXPECT_EQ(maker.make(id, &count_up, &ran), EAGAIN);
    ASSERT_EQ(maker.make(id, &count_up, &ran), 0);
    os::join_thread(id);
    EXPECT_EQ(ran.load(), 2);
    maker.end();
}

TEST(ThreadMaker, NewThreadsInheritFromItAndNotFromTheCaller) {
    thread_maker maker;
    std::thread([&] {
        const int before = getpriority(PRIO_PROCESS, 0);
        if (before >= 19) GTEST_SKIP() << "as nice as can be already";
        maker.start();
        if (setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), before + 1) != 0)
            GTEST_SKIP() << "this system lets no thread be nicer";
        std::atomic<int> seen{99};
        os::thread_id id = 0;
        const auto look = [](void* to) -> void* {
            static_cast<std::atomic<int>*>(to)->store(getpriority(PRIO_PROCESS, 0));
            return nullptr;
        };
        ASSERT_EQ(maker.make(id, look, &seen), 0);
        os::join_thread(id);
        EXPECT_EQ(seen.load(), before);
    }).join();
    maker.end();
}

TEST(ThreadMaker, ServesManyAtOnce) {
    for (int round = 0; round < 20; ++round) {
        thread_maker maker;
        std::atomic<int> ran{0};
        std::vector<std::thread> callers;
        for (int i = 0; i < 8; ++i) {
            callers.emplace_back([&] {
                maker.start();
                for (int n = 0; n < 5; ++n) {
                    os::thread_id id = 0;
                    ASSERT_EQ(maker.make(id, &count_up, &ran), 0);
                    os::join_thread(id);
                }
            });
        }
        for (std::thread& t : callers) t.join();
        EXPECT_EQ(ran.load(), 40);
        maker.end();
    }
}

}  // namespace
}  // namespace weft::detail
