// linearizable_test.cc: histories that the checker must accept, and must not.
#include "linearizable.h"

#include <vector>

#include <gtest/gtest.h>

namespace {

operation write(const char* value, uint64_t begin, uint64_t end) { return {true, value, begin, end}; }

operation read(const char* value, uint64_t begin, uint64_t end) { return {false, value, begin, end}; }

bool holds(const std::vector<operation>& all) { return linearizability::holds(all); }

TEST(Linearizability, AcceptsOneOperationAfterTheOther) {
    EXPECT_TRUE(holds({}));
    EXPECT_TRUE(holds({read("", 1, 2), write("a", 3, 4), read("a", 5, 6), write("b", 7, 8), read("b", 9, 10)}));
}

TEST(Linearizability, RejectsAStaleRead) {
    EXPECT_FALSE(holds({write("a", 1, 2), write("b", 3, 4), read("a", 5, 6)}));
    EXPECT_FALSE(holds({write("a", 1, 2), read("", 3, 4)}));
}

TEST(Linearizability, RejectsAValueThatNothingHasWritten) { EXPECT_FALSE(holds({write("a", 1, 2), read("b", 3, 4)})); }

TEST(Linearizability, ConcurrentOperationsHaveAnyOrder) {
    EXPECT_TRUE(holds({write("a", 1, 10), write("b", 2, 9), read("b", 11, 12)}));
    EXPECT_TRUE(holds({write("a", 1, 10), write("b", 2, 9), read("a", 11, 12)}));
    EXPECT_TRUE(holds({write("a", 1, 10), read("", 2, 3), read("a", 4, 5)}));
}

TEST(Linearizability, RejectsReadsThatGoBack) {
    EXPECT_FALSE(holds({write("a", 1, 10), read("a", 2, 3), read("", 4, 5)}));
}

TEST(Linearizability, AWriteWithoutAnEndHappensAtAnyTimeOrNever) {
    EXPECT_TRUE(holds({write("a", 1, operation::unknown), read("", 2, 3)}));
    EXPECT_TRUE(holds({write("a", 1, operation::unknown), read("", 2, 3), write("b", 4, 5), read("a", 6, 7)}));
    EXPECT_FALSE(holds({write("a", 1, operation::unknown), read("a", 2, 3), read("", 4, 5)}));
}

}  // namespace
