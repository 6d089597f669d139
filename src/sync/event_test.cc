// event_test.cc: the flag, in one thread.
#include <chrono>
#include <type_traits>

#include <gtest/gtest.h>

#include <weft/event.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<event> && !std::is_move_constructible_v<event>);
static_assert(sizeof(event) == 24);

constinit event event_made_at_compile_time;

TEST(Event, BeginsNotSet) {
    event e;
    EXPECT_FALSE(e.is_set());
    EXPECT_FALSE(e.wait_for(0s));
    EXPECT_FALSE(event_made_at_compile_time.is_set());
}

TEST(Event, StaysSetUntilItIsReset) {
    event e;
    e.set();
    EXPECT_TRUE(e.is_set());
    e.wait();
    e.wait();
    EXPECT_TRUE(e.wait_for(0s));
    e.set();
    EXPECT_TRUE(e.is_set());
    e.reset();
    EXPECT_FALSE(e.is_set());
    e.reset();
    EXPECT_FALSE(e.wait_for(0s));
    e.set();
    EXPECT_TRUE(e.wait_until(std::chrono::steady_clock::now() - 1h));
}

TEST(Event, ATimeoutLeavesNoWaiterBehind) {
    event e;
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(e.wait_for(100us));
        EXPECT_FALSE(e.wait_until(std::chrono::system_clock::now() + 100us));
    }
    e.set();
    EXPECT_TRUE(e.wait_for(0s));
    e.reset();
    EXPECT_FALSE(e.wait_for(1us));
}

// A wait for several objects joins the queue directly.
TEST(Event, AWaiterWithAClaimIsServedIfItWinsTheClaim) {
    event e;
    detail::event_core& core = detail::core_of(e);
    const auto join = [&](detail::waiter& w) {
        const uint32_t bits = core.word.lock_bits();
        EXPECT_EQ(bits & detail::event_core::set, 0U);
        core.waiters.push_back(w);
        core.word.unlock_bits(bits | detail::event_core::waiting);
    };
    detail::claim_word claim;
    detail::waiter w;
    w.claim = &claim;
    bool must_ready = false;
    EXPECT_TRUE(claim.try_claim(0, must_ready));  // another party won
    join(w);
    e.set();
    EXPECT_TRUE(core.waiters.empty());
    EXPECT_FALSE(w.ok);
    EXPECT_EQ(w.queue, nullptr);
    EXPECT_TRUE(e.is_set());
}

}  // namespace
}  // namespace weft
