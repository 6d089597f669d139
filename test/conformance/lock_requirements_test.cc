// lock_requirements_test.cc: which of the standard's requirements each lock meets, and that the
// standard's own tools accept it.

#include <chrono>
#include <mutex>
#include <shared_mutex>

#include <gtest/gtest.h>

#include <weft/recursive_mutex.h>
#include <weft/shared_mutex.h>
#include <weft/shared_timed_mutex.h>
#include <weft/timed_mutex.h>

#include "support/lockable.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

static_assert(mutex_like<mutex> && !timed_lockable<mutex> && !shared_lockable<mutex>);
static_assert(mutex_like<timed_mutex> && timed_lockable<timed_mutex>);
static_assert(mutex_like<recursive_mutex> && !timed_lockable<recursive_mutex>);
static_assert(mutex_like<recursive_timed_mutex> && timed_lockable<recursive_timed_mutex>);
static_assert(mutex_like<shared_mutex> && shared_lockable<shared_mutex>);
static_assert(!timed_lockable<shared_mutex> && !shared_timed_lockable<shared_mutex>);
static_assert(mutex_like<shared_timed_mutex> && timed_lockable<shared_timed_mutex>);
static_assert(shared_lockable<shared_timed_mutex> && shared_timed_lockable<shared_timed_mutex>);

static_assert(sizeof(mutex) == 24 && sizeof(timed_mutex) == 24);
static_assert(sizeof(recursive_mutex) == 48 && sizeof(recursive_timed_mutex) == 48);
static_assert(sizeof(shared_mutex) <= 64 && sizeof(shared_timed_mutex) == sizeof(shared_mutex));

// Constant initialization: usable before main, in constructors of other static objects.
constinit mutex static_mutex;
constinit timed_mutex static_timed_mutex;
constinit recursive_mutex static_recursive_mutex;
constinit recursive_timed_mutex static_recursive_timed_mutex;
constinit shared_mutex static_shared_mutex;
constinit shared_timed_mutex static_shared_timed_mutex;

template <typename L>
class AnyLock : public ::testing::Test {};

using locks =
    ::testing::Types<mutex, timed_mutex, recursive_mutex, recursive_timed_mutex, shared_mutex, shared_timed_mutex>;
TYPED_TEST_SUITE(AnyLock, locks);

TYPED_TEST(AnyLock, WorksWithTheStandardsLocks) {
    TypeParam a;
    TypeParam b;
    { const std::lock_guard hold(a); }
    { const std::scoped_lock both(a, b); }
    std::unique_lock one(a, std::try_to_lock);
    EXPECT_TRUE(one.owns_lock());
    one.unlock();
    std::unique_lock other(b, std::defer_lock);
    EXPECT_EQ(std::try_lock(one, other), -1);
    if constexpr (timed_lockable<TypeParam>) {
        one.unlock();
        EXPECT_TRUE(one.try_lock_for(1h));
    }
    if constexpr (shared_lockable<TypeParam>) {
        other.unlock();
        std::shared_lock read(b);
        std::shared_lock read_too(b, std::try_to_lock);
        EXPECT_TRUE(read_too.owns_lock());
        EXPECT_FALSE(other.try_lock());
        if constexpr (shared_timed_lockable<TypeParam>) {
            read.unlock();
            EXPECT_TRUE(read.try_lock_for(1h));
        }
    }
}

}  // namespace
}  // namespace weft::test
