// spin_lock_test.cc: mutual exclusion, and the object's bits in the lock's word.
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/detail/spin_lock.h>

#include "support/scale.h"

namespace weft::detail {
namespace {

constexpr int threads = 4;

template <typename F>
void on_threads(F&& body) {
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i) all.emplace_back(body);
    for (std::thread& t : all) t.join();
}

TEST(GuardedWord, LockingReturnsTheBitsThatUnlockingLeft) {
    guarded_word word;
    EXPECT_EQ(word.lock_bits(), 0U);
    word.unlock_bits(40);
    EXPECT_EQ(word.lock_bits(), 40U);
    EXPECT_EQ(word.word().load(), 40U | guarded_word::guard);
    word.unlock_bits(0xFFFFFFFE);
    EXPECT_EQ(word.lock_bits(), 0xFFFFFFFEU);
    word.unlock_bits(0);
    EXPECT_EQ(word.word().load(), 0U);
}

TEST(GuardedWord, OneThreadAtATimeHoldsIt) {
    const int rounds = test::scaled(20'000);
    guarded_word word;
    uint32_t guarded = 0;
    on_threads([&] {
        for (int i = 0; i < rounds; ++i) {
            const uint32_t bits = word.lock_bits();
            ++guarded;
            word.unlock_bits(bits + 2);
        }
    });
    EXPECT_EQ(guarded, uint32_t(threads * rounds));
    EXPECT_EQ(word.lock_bits(), uint32_t(2 * threads * rounds)) << "the object's bits were lost";
    word.unlock_bits(0);
}

TEST(GuardedWord, AnExchangeOfTheBitsIsNotLostToALockHolder) {
    const int rounds = test::scaled(20'000);
    guarded_word word;
    on_threads([&] {
        for (int i = 0; i < rounds; ++i) {
            if (i % 2 == 0) {
                word.unlock_bits(word.lock_bits() + 2);
                continue;
            }
            uint32_t seen = word.word().load() & ~guarded_word::guard;
            for (uint32_t attempt = 0; !word.word().compare_exchange_weak(seen, seen + 2); ++attempt) {
                seen &= ~guarded_word::guard;
                spin_backoff(attempt);
            }
        }
    });
    EXPECT_EQ(word.word().load(), uint32_t(2 * threads * rounds));
}

TEST(SpinLock, OneThreadAtATimeHoldsIt) {
    const int rounds = test::scaled(20'000);
    spin_lock lock;
    int guarded = 0;
    on_threads([&] {
        for (int i = 0; i < rounds; ++i) {
            lock.lock();
            ++guarded;
            lock.unlock();
        }
    });
    EXPECT_EQ(guarded, threads * rounds);
    EXPECT_EQ(lock.word().load(), 0U);
}

// Waiters go as far as sleeping in the OS.
TEST(SpinLock, WaitersOutlastAHolderThatIsNotRunning) {
    spin_lock lock;
    lock.lock();
    atomic<int> arrived{0};
    atomic<int> passed{0};
    std::vector<std::thread> waiters;
    for (int i = 0; i < threads; ++i) {
        waiters.emplace_back([&] {
            arrived.fetch_add(1);
            lock.lock();
            passed.fetch_add(1);
            lock.unlock();
        });
    }
    while (arrived.load() != threads) std::this_thread::yield();
    for (uint32_t attempt = 0; attempt < 140; ++attempt) spin_backoff(attempt);
    EXPECT_EQ(passed.load(), 0);
    lock.unlock();
    for (std::thread& t : waiters) t.join();
    EXPECT_EQ(passed.load(), threads);
}

}  // namespace
}  // namespace weft::detail
