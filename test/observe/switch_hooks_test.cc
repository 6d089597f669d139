// switch_hooks_test.cc: the hooks of switches: balanced on each OS thread, however green threads
// leave it, and while hooks come and go.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/big_stack.h>
#include <weft/blocking.h>
#include <weft/observe/switch_hooks.h>
#include <weft/pin.h>
#include <weft/run.h>
#include <weft/weft.h>

#include "death/culprit.h"
#include "death/death.h"
#include "support/asking.h"
#include "support/build.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/retaken.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using observe::switch_event;
using observe::switch_hooks;

// The green thread that runs on this OS thread, as the hooks of checked say; 0: none.
thread_local uint64_t running = 0;

// Not inlined: the address of a thread-local must not be kept across a switch.
[[gnu::noinline]] uint64_t running_here() noexcept {
    asm volatile("");
    return running;
}

// Counts calls, and those that do not fit.
struct tally_of_calls {
    std::atomic<uint64_t> ins{0};
    std::atomic<uint64_t> outs{0};
    std::atomic<uint64_t> misfits{0};
};

[[gnu::noinline]] void note_in(void* argument, const switch_event& event) noexcept {
    auto& t = *static_cast<tally_of_calls*>(argument);
    if (running != 0 || event.green_thread == 0) t.misfits.fetch_add(1);
    running = event.green_thread;
    t.ins.fetch_add(1);
}

[[gnu::noinline]] void note_out(void* argument, const switch_event& event) noexcept {
    auto& t = *static_cast<tally_of_calls*>(argument);
    if (running != event.green_thread) t.misfits.fetch_add(1);
    running = 0;
    t.outs.fetch_add(1);
}

void nothing(void* /*argument*/, const switch_event& /*event*/) noexcept {}

// Hooks that check each other.
class checked {
public:
    ~checked() {
        if (hooks_ != nullptr) end();
    }

    // Removes the hooks, and checks that they were balanced.
    void end() {
        hooks_.reset();
        EXPECT_EQ(calls_.ins.load(), calls_.outs.load());
        EXPECT_EQ(calls_.misfits.load(), 0U);
    }

    [[nodiscard]] uint64_t ins() const { return calls_.ins.load(); }

    [[nodiscard]] uint64_t outs() const { return calls_.outs.load(); }

    [[nodiscard]] switch_hooks& hooks() { return *hooks_; }

private:
    tally_of_calls calls_;
    std::unique_ptr<switch_hooks> hooks_ = std::make_unique<switch_hooks>(&note_in, &note_out, &calls_);
};

// Whether the hooks say that the caller runs here. The caller ran for the first time since they
// exist.
bool is_known() { return running_here() == this_g::id(); }

class SwitchHooks : public procs_test {
protected:
    SwitchHooks() : procs_test(60s) {}

    ~SwitchHooks() override = default;
};

WEFT_SWEEP(SwitchHooks);

TEST_P(SwitchHooks, NameTheGreenThreadThatRuns) {
    checked calls;
    std::atomic<int> wrong = 0;
    const int n = scaled(200);
    rt().run([&] {
        const chan<int> c;
        wait_group done;
        for (int i = 0; i < n; ++i) {
            done.go([&, i] {
                for (int k = 0; k < 10; ++k) {
                    if (!is_known()) ++wrong;
                    weft::yield();
                    if (!is_known()) ++wrong;
                    if (i % 2 == 0) {
                        c.send(k);
                    } else {
                        static_cast<void>(c.recv());
                    }
                    if (!is_known()) ++wrong;
                }
                sleep_for(100us);
                if (!is_known()) ++wrong;
            });
        }
        done.wait();
    });
    rt().drain();
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_GE(calls.ins(), static_cast<uint64_t>(n) * 10);
    calls.end();
}

TEST_P(SwitchHooks, ShortGreenThreadsHaveBothCalls) {
    checked calls;
    std::atomic<int> wrong = 0;
    const int n = scaled(3000);
    rt().run([&] {
        wait_group done;
        for (int i = 0; i < n; ++i) {
            done.go([&] {
                if (!is_known()) ++wrong;
            });
            if (i % 100 == 0) weft::yield();
        }
        done.wait();
    });
    rt().drain();
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_GE(calls.ins(), static_cast<uint64_t>(n));
    calls.end();
}

TEST_P(SwitchHooks, MayComeAndGoWhileGreenThreadsRun) {
    std::atomic<bool> over = false;
    std::vector<future<void>> workers;
    for (int i = 0; i < 4; ++i) {
        workers.push_back(rt().async([&] {
            const chan<int> c;
            while (!over.load()) {
                auto other = async([&] { c.send(1); });
                static_cast<void>(c.recv());
                other.get();
                blocking([] {});
                weft::yield();
            }
        }));
    }
    uint64_t seen = 0;
    for (int i = 0; i < scaled(300); ++i) {
        checked calls;
        std::unique_ptr<checked> other;
        eventually([&] { return calls.ins() >= 3; });
        if (i % 3 == 0) rt().run([] { weft::yield(); });
        seen += calls.ins();
        calls.end();
    }
    over = true;
    for (auto& w : workers) w.get();
    EXPECT_GT(seen, 0U);
}

TEST_P(SwitchHooks, AGreenThreadMayRemoveThem) {
    for (int i = 0; i < scaled(50); ++i) {
        auto calls = std::make_unique<checked>();
        rt().run([&] {
            async([] { weft::yield(); }).get();
            EXPECT_TRUE(is_known());
            calls->end();
            EXPECT_EQ(running_here(), 0U) << "its out was called";
            async([] { weft::yield(); }).get();
        });
    }
}

TEST_P(SwitchHooks, ABlockingCallIsNoSwitch) {
    checked calls;
    rt().run([&] {
        async([] {}).get();
        if (!is_known()) return;  // it has not run again
        const uint64_t id = this_g::id();
        blocking([&] { EXPECT_EQ(running_here(), id); });
        EXPECT_EQ(running_here(), id);
    });
    calls.end();
}

TEST_P(SwitchHooks, RemovingWaitsForABlockingCall) {
    checked calls;
    std::atomic<bool> inside = false;
    std::atomic<bool> over = false;
    auto call = rt().async([&] {
        weft::yield();
        blocking(hand_off::at_once, [&] {
            inside = true;
            while (!over.load()) std::this_thread::yield();
        });
    });
    eventually([&] { return inside.load(); });
    EXPECT_FALSE(calls.hooks().remove_for(0ns));
    EXPECT_FALSE(calls.hooks().remove_for(1ms));
    const uint64_t before = calls.ins();
    rt().async([] {}).get();
    EXPECT_EQ(calls.ins(), before) << "no in is called any longer";
    over = true;
    calls.hooks().remove();
    EXPECT_EQ(calls.ins(), calls.outs());
    call.get();
    EXPECT_TRUE(calls.hooks().remove_for(0ns));
}

TEST_P(SwitchHooks, FollowPinnedOnesAndBigStacks) {
    checked calls;
    std::atomic<int> wrong = 0;
    rt().run([&] {
        wait_group done;
        for (int i = 0; i < 20; ++i) {
            done.go([&, i] {
                const auto work = [&] {
                    for (int k = 0; k < scaled(50); ++k) {
                        if (!is_known()) ++wrong;
                        weft::yield();
                    }
                };
                if (i % 4 == 0) {
                    const pin here;
                    work();
                } else if (i % 4 == 1) {
                    on_big_stack(1 << 20, work);
                } else {
                    work();
                }
                if (!is_known()) ++wrong;
            });
        }
        done.wait();
    });
    rt().drain();
    EXPECT_EQ(wrong.load(), 0);
    calls.end();
}

TEST_P(SwitchHooks, FollowPreemptionBySignal) {
    if (built_with_tsan) GTEST_SKIP() << "no signals with ThreadSanitizer";
    checked calls;
    std::atomic<int> wrong = 0;
    rt().run([&] {
        const asking all(20us);
        const uint64_t before = times_interrupted();
        wait_group done;
        std::atomic<bool> over = false;
        for (int i = 0; i < 3; ++i) {
            done.go({.preemptible = true}, [&] {
                while (!over.load(std::memory_order_relaxed)) {
                    if (running_here() != this_g::id()) wrong.fetch_add(1, std::memory_order_relaxed);
                }
            });
        }
        eventually([&] { return times_interrupted() - before >= 20; });
        over = true;
        done.wait();
    });
    rt().drain();
    EXPECT_EQ(wrong.load(), 0);
    calls.end();
}

TEST_P(SwitchHooks, CoverRuntimesThatAreMadeLaterAndStop) {
    checked calls;
    for (int i = 0; i < scaled(20); ++i) {
        runtime other({.procs = procs()});
        const uint64_t before = calls.ins();
        other.run([] { weft::yield(); });
        EXPECT_GT(calls.ins(), before);
        auto sleeper = other.async([] { sleep_for(1h); });
        const auto done = other.shutdown(1s);
        EXPECT_EQ(done.abandoned, 0U);
    }
    calls.end();
}

TEST_P(SwitchHooks, AreCalledInTheOrderOfTheirPlaces) {
    struct step {
        std::string* log;
        char name;

        static void in(void* self, const switch_event& /*event*/) noexcept {
            auto* s = static_cast<step*>(self);
            s->log->push_back(s->name);
        }

        static void out(void* self, const switch_event& /*event*/) noexcept {
            auto* s = static_cast<step*>(self);
            s->log->push_back(static_cast<char>(s->name - 'a' + 'A'));
        }
    };

    runtime one({.procs = 1});  // so that one thread writes to the log at a time
    std::string log;
    log.reserve(4096);
    step a{&log, 'a'};
    step b{&log, 'b'};
    {
        switch_hooks first(&step::in, &step::out, &a);
        switch_hooks second(&step::in, &step::out, &b);
        one.run([] { weft::yield(); });
        one.drain();
        second.remove();
        first.remove();
    }
    ASSERT_GE(log.size(), 4U);
    for (std::size_t i = 0; i + 4 <= log.size(); i += 4) EXPECT_EQ(log.substr(i, 4), "abBA");
}

TEST_P(SwitchHooks, AWordBelongsToItsGreenThread) {
    struct seen {
        std::atomic<uint64_t> ins{0};
        std::atomic<uint64_t> wrong{0};

        static void in(void* self, const switch_event& e) noexcept {
            auto& s = *static_cast<seen*>(self);
            s.ins.fetch_add(1);
            const uint64_t owner = e.word == nullptr ? 0 : *static_cast<uint64_t*>(e.word);
            if (owner != 0 && owner != e.green_thread) s.wrong.fetch_add(1);
        }
    };

    seen all;
    switch_hooks hooks(&seen::in, &nothing, &all);
    rt().run([&] {
        wait_group done;
        for (int i = 0; i < scaled(100); ++i) {
            done.go([&] {
                uint64_t own = this_g::id();
                EXPECT_EQ(hooks.word(), nullptr) << "a new green thread has none";
                hooks.set_word(&own);
                for (int k = 0; k < 5; ++k) weft::yield();
                EXPECT_EQ(hooks.word(), &own);
                hooks.set_word(nullptr);
            });
        }
        done.wait();
        uint64_t mine = 0;
        hooks.set_word(&mine, true);
        wait_group children;
        children.go({.inherit_locals = true}, [&] { EXPECT_EQ(hooks.word(), &mine); });
        children.go([&] { EXPECT_EQ(hooks.word(), nullptr); });
        hooks.set_word(&mine, false);
        children.go({.inherit_locals = true}, [&] { EXPECT_EQ(hooks.word(), nullptr); });
        hooks.set_word(nullptr);
        children.wait();
    });
    rt().drain();
    hooks.remove();
    EXPECT_EQ(all.wrong.load(), 0U);
    EXPECT_EQ(hooks.word(), nullptr);
}

TEST(SwitchHooksApi, RefuseNullAndMoreThanTheMaximum) {
    EXPECT_THROW(switch_hooks(nullptr, &nothing, nullptr), std::invalid_argument);
    EXPECT_THROW(switch_hooks(&nothing, nullptr, nullptr), std::invalid_argument);
    std::vector<std::unique_ptr<switch_hooks>> all;
    for (unsigned i = 0; i < switch_hooks::most; ++i)
        all.push_back(std::make_unique<switch_hooks>(&nothing, &nothing, nullptr));
    EXPECT_THROW(switch_hooks(&nothing, &nothing, nullptr), std::length_error);
    all.erase(all.begin());
    EXPECT_NO_THROW(all.push_back(std::make_unique<switch_hooks>(&nothing, &nothing, nullptr)));
}

// As RetakenCall: green threads that lose their P in the middle.
class SwitchHooksRetaken : public short_slice_test {
protected:
    SwitchHooksRetaken() : short_slice_test(60s) {}
};

WEFT_SWEEP_OVER(SwitchHooksRetaken, 1U, 2U, 4U);

TEST_P(SwitchHooksRetaken, FollowGreenThreadsWithoutAP) {
    checked calls;
    std::atomic<int> wrong = 0;
    {
        const crowd busy(rt());
        rt().run([&] {
            for (int i = 0; i < scaled(30); ++i) {
                weft::yield();
                lose_p();
                if (!is_known()) ++wrong;
                if (i % 3 == 0) blocking([] {});
                if (i % 3 == 1) sleep_for(10us);
                if (i % 3 == 2) async([] { lose_p(); }).get();
                if (!is_known()) ++wrong;
            }
        });
    }
    rt().drain();
    EXPECT_EQ(wrong.load(), 0);
    calls.end();
}

// ---- Misuse.

class SwitchHooksMisuse : public DeathTest {};

void wait_in_hook(void* /*argument*/, const switch_event& /*event*/) noexcept {
    const chan<int> c;
    static_cast<void>(c.recv());
}

void yield_in_hook(void* /*argument*/, const switch_event& /*event*/) noexcept { weft::yield(); }

void start_in_hook(void* /*argument*/, const switch_event& /*event*/) noexcept {
    weft::go([] {});
}

void run_with(switch_hooks::function in) {
    const switch_hooks hooks(in, &nothing, nullptr);
    runtime rt({.procs = 1});
    rt.run([] { weft::yield(); });
}

TEST_F(SwitchHooksMisuse, AHookThatUsesTheScheduler) {
    const std::string rest =
        "; hooks run inside the scheduler, so they may only note what they see: docs/switch_hooks.md";
    EXPECT_ABORT(run_with(&wait_in_hook), fatal_line("a switch hook waited" + rest));
    EXPECT_ABORT(run_with(&yield_in_hook), fatal_line("a switch hook called weft::yield()" + rest));
    EXPECT_ABORT(run_with(&start_in_hook), fatal_line("a switch hook started a green thread" + rest));
}

TEST_F(SwitchHooksMisuse, AWordInAPlainThread) {
    EXPECT_ABORT(
        {
            switch_hooks hooks(&nothing, &nothing, nullptr);
            hooks.set_word(nullptr);
        },
        fatal_line("switch_hooks::set_word was called in a plain thread, which has no word"));
}

// The main green thread of C runs on the stack of its thread.
int balance_of_mains() {
    checked calls;
    if (run_scheduler_init() != RUN_OK) return 2;
    for (int i = 0; i < 10; ++i) weft::yield();
    async([] {}).get();
    const bool known = is_known();
    if (run_scheduler_stop() != RUN_OK) return 5;
    calls.hooks().remove();
    if (!known) return 3;
    return calls.ins() == calls.outs() && calls.ins() > 2 && running_here() == 0 ? 0 : 4;
}

TEST_F(SwitchHooksMisuse, TheMainGreenThreadOfCIsBalanced) {
    EXPECT_EXIT(std::_Exit(balance_of_mains()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft::test
