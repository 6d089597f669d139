// select_event_test.cc: waiting for events among other things.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using SelectEvent = procs_test;
WEFT_SWEEP(SelectEvent);

TEST_P(SelectEvent, ASetEventIsReadyAtOnce) {
    rt().run([] {
        event e;
        const chan<int> c;
        EXPECT_EQ(select(ready_case(e), otherwise()).index(), 1U);
        e.set();
        EXPECT_EQ(select(recv_case(c), ready_case(e), otherwise()).index(), 1U);
        EXPECT_EQ(select(on_recv(c, [](auto) {}), on_event(e, [] {})), 1U);
        e.reset();
        EXPECT_EQ(select(recv_case(c), ready_case(e), timeout_case(1ms)).index(), 2U);
    });
}

TEST_P(SelectEvent, SetWakesAllSelects) {
    event e;
    const chan<int> c;
    std::atomic<int> told = 0;
    park(10, [&] {
        for (int i = 0; i < 10; ++i)
            rt().go([&] { told += select(recv_case(c), ready_case(e), ready_case(e)).index() != 0; });
    });
    e.set();
    rt().drain();
    EXPECT_EQ(told, 10);
    EXPECT_EQ(c.try_send(1), chan_status::would_block);
}

// A select counts as a waiter: a reset right after the set does not undo its wake-up.
TEST_P(SelectEvent, AResetDoesNotRevokeTheWakeUp) {
    event e;
    std::atomic<bool> told = false;
    park(1, [&] { rt().go([&] { told = select(ready_case(e), recv_case(chan<int>::nil())).index() == 0; }); });
    e.set();
    e.reset();
    rt().drain();
    EXPECT_TRUE(told);
}

TEST_P(SelectEvent, ALosingEventCanBeWaitedForAndDestroyed) {
    const chan<int> c;
    std::optional<event> e(std::in_place);
    std::atomic<bool> lost = false;
    park(1, [&] { rt().go([&] { lost = select(ready_case(*e), recv_case(c), ready_case(*e)).index() == 1; }); });
    c.send(1);
    eventually([&] { return lost.load(); });
    park(1, [&] { rt().go([&] { e->wait(); }); });
    e->set();
    rt().drain();
    e.reset();
}

TEST_P(SelectEvent, ACancelledSelectLeavesNoWaiterInTheEvent) {
    event e;
    std::optional<future<ending>> f;
    park(1, [&] {
        f = rt().async(
            [&] { return ending_of([&] { static_cast<void>(select(ready_case(e), recv_case(chan<int>()))); }); });
    });
    f->cancel();
    EXPECT_EQ(f->get(), ending::cancelled);
    e.set();
}

// The event is destroyed as soon as the select has returned, and its memory overwritten at once.
TEST_P(SelectEvent, AnEventMayBeDestroyedRightAfterTheSelect) {
    const int rounds = scaled(3000);
    const int wrong = rt().run([rounds] {
        prng random(2);
        int mistakes = 0;
        alignas(event) std::byte memory[sizeof(event)];
        for (int i = 0; i < rounds; ++i) {
            auto* e = ::new (memory) event;
            const chan<int> c(1);
            wait_group setter;
            const bool also_sends = random.one_in(2);
            setter.go([e, c, also_sends, wait = random.one_in(3)] {
                if (wait) weft::yield();
                if (also_sends) c.send(1);
                e->set();
            });
            if (select(ready_case(*e), recv_case(c)).index() == 1) e->wait();
            mistakes += !e->is_set();
            e->~event();
            std::memset(memory, 0x5a, sizeof memory);
            setter.wait();
        }
        return mistakes;
    });
    EXPECT_EQ(wrong, 0);
}

TEST_P(SelectEvent, APlainThreadMaySelectEvents) {
    event e;
    const chan<int> c;
    std::thread other([&] { rt().run([&] { e.set(); }); });
    EXPECT_EQ(select(recv_case(c), ready_case(e)).index(), 1U);
    other.join();
}

}  // namespace
}  // namespace weft::test
