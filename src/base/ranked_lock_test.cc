// ranked_lock_test.cc: what the order of ranks allows, and what it reports.
#include "base/ranked_lock.h"

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

TEST(RankedLock, ARankMayBeTakenUnderAnEarlierOne) {
    ranked_lock<lock_rank::procs> first;
    ranked_lock<lock_rank::idle> second;
    ranked_lock<lock_rank::leaf> third;
    first.lock();
    second.lock();
    third.lock();
    third.unlock();
    second.unlock();
    third.lock();
    third.unlock();
    first.unlock();
    EXPECT_FALSE(first.is_locked() || second.is_locked() || third.is_locked());
}

TEST(RankedLock, ASecondLockOfARankIsAllowedWhereItIsSaid) {
    ranked_lock<lock_rank::leaf> one;
    ranked_lock<lock_rank::leaf> other;
    one.lock();
    other.lock_second();
    EXPECT_TRUE(other.is_locked());
    other.unlock_second();
    one.unlock();
    EXPECT_FALSE(one.is_locked() || other.is_locked());
}

TEST(RankedLock, ALockThatIsHandedOverCountsAsFree) {
    ranked_lock<lock_rank::leaf> handed;
    ranked_lock<lock_rank::leaf> other;
    handed.lock();
    EXPECT_EQ(handed.hand_over(), &handed);
    other.lock();
    other.unlock();
    EXPECT_TRUE(handed.is_locked());
    handed.unlock_bits(0);
    EXPECT_FALSE(handed.is_locked());
}

#if defined(WEFT_DEBUG_CHECKS)

template <lock_rank Rank>
void take(ranked_lock<Rank>& lock) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    lock.lock();
}

TEST(RankedLockDeathTest, AnEarlierRankUnderALaterOneIsFatal) {
    ranked_lock<lock_rank::idle> early;
    ranked_lock<lock_rank::leaf> late;
    late.lock();
    EXPECT_DEATH(take(early), "a lock of rank 1 is taken while the ranks in 0x4 are held");
    late.unlock();
}

TEST(RankedLockDeathTest, TwoOfOneRankAreFatal) {
    ranked_lock<lock_rank::leaf> one;
    ranked_lock<lock_rank::leaf> other;
    one.lock();
    EXPECT_DEATH(take(other), "a lock of rank 2 is taken while the ranks in 0x4 are held");
    one.unlock();
}

#endif

}  // namespace
}  // namespace weft::detail
