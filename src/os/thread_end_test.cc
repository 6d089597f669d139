// thread_end_test.cc: threads of the library end beside threads of the program.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "os/os.h"

namespace weft::detail {
namespace {

std::atomic<int> destroyed;

struct counts_its_end {
    int used = 0;

    ~counts_its_end() { ++destroyed; }
};

void use_thread_local() {
    thread_local counts_its_end local;
    ++local.used;
}

void* use_thread_local_in(void* /*argument*/) {
    use_thread_local();
    return nullptr;
}

// Both kinds destroy thread-locals. On Windows that takes a lock of the C++ runtime and one of the
// system's loader, which all threads must take in the same order.
TEST(ThreadEnd, ThreadsOfBothKindsEndAtTheSameTime) {
    constexpr int rounds = 200;
    constexpr int of_each_kind = 4;
    destroyed = 0;
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::thread> of_program;
        std::array<os::thread_id, of_each_kind> ours{};
        for (os::thread_id& id : ours) {
            of_program.emplace_back(use_thread_local);
            ASSERT_EQ(os::start_thread(id, use_thread_local_in, nullptr), 0);
        }
        for (const os::thread_id id : ours) os::join_thread(id);
        for (std::thread& t : of_program) t.join();
    }
    EXPECT_EQ(destroyed, rounds * 2 * of_each_kind);
}

}  // namespace
}  // namespace weft::detail
