// heap_profile_test.cc: heap profiles of the allocator that the program has. heap_check.py runs
// this with others than the system's.
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <weft/observe/heap_profile.h>

#include "support/temp_folder.h"

namespace weft::test {
namespace {

[[gnu::noinline]] std::vector<char> allocate_much() {
    std::vector<char> much(32 << 20);
    asm volatile("" : : "r"(much.data()) : "memory");
    return much;
}

// WEFT_TEST_HEAP: what must happen; without it, the program has the allocator of the system.
TEST(HeapProfile, IsThatOfTheAllocator) {
    const char* const wanted = std::getenv("WEFT_TEST_HEAP");
    const std::string expected = wanted != nullptr ? wanted : "linked neither with jemalloc nor with gperftools";
    const temp_folder folder;
    const std::string path = folder.path() + "/heap.out";
    const std::vector<char> much = allocate_much();
    try {
        observe::write_heap_profile(path);
    } catch (const std::system_error& e) {
        EXPECT_NE(std::string(e.what()).find(expected), std::string::npos) << e.what();
        return;
    }
    std::ifstream file(path);
    std::string first;
    std::getline(file, first);
    EXPECT_EQ(first.rfind(expected, 0), 0U) << first;
    ASSERT_NE(first, "");
}

TEST(HeapProfile, ReportsAFileThatCannotBeWritten) {
    if (std::getenv("WEFT_TEST_HEAP") == nullptr) GTEST_SKIP() << "heap_check.py runs this";
    try {
        observe::write_heap_profile("/nowhere/heap.out");
        ADD_FAILURE() << "a file in a folder that does not exist was written";
    } catch (const std::system_error& e) {
        EXPECT_NE(std::string(e.what()).find("/nowhere/heap.out"), std::string::npos) << e.what();
    }
}

}  // namespace
}  // namespace weft::test
