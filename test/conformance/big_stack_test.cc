// big_stack_test.cc: on_big_stack runs a green thread on another stack: what it returns, throws,
// holds and waits for.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/big_stack.h>
#include <weft/weft.h>

#include "os/os.h"
#include "sched/current.h"
#include "sched/scheduler.h"
#include "sched/switch.h"
#include "support/build.h"
#include "support/captured.h"
#include "support/procs_test.h"
#include "support/unwinding.h"

namespace weft::test {
namespace {

using BigStack = procs_test;
WEFT_SWEEP(BigStack);

constexpr std::size_t mib = 1024 * 1024;

const detail::G& this_green_thread() { return *detail::current_m()->g; }

// How much of a stack use() may be told to use: all but the frames around it, which are larger in
// sanitized code.
constexpr std::size_t usable(std::size_t size) { return size - 64 * 1024; }

// Uses the stack below top, so many bytes of it. Returns the address of the lowest frame record.
[[gnu::noinline]] uintptr_t use_below(uintptr_t top, std::size_t bytes) {
    volatile std::byte some[4096];
    some[0] = std::byte{1};
    some[sizeof(some) - 1] = std::byte{1};
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (top - here >= bytes) return here;
    const uintptr_t below = use_below(top, bytes);
    return below + (some[0] == std::byte{1} ? 0 : 1);
}

uintptr_t use(std::size_t bytes) { return use_below(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)), bytes); }

TEST_P(BigStack, HasTheRequestedSize) {
    rt().run([] {
        for (const std::size_t size : {mib, 4 * mib, 10 * mib}) {
            const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
            const uintptr_t there = on_big_stack(size, [size] { return use(usable(size)); });
            EXPECT_TRUE(there < here - 300 * 1024 || there > here);
        }
    });
}

TEST_P(BigStack, IsAMebibyteByDefault) {
    rt().run([] {
        on_big_stack([] {
            EXPECT_GE(this_green_thread().stack->size(), mib);
            EXPECT_GT(this_g::stack_left(), mib - 4096);
            use(usable(mib));
        });
    });
}

TEST_P(BigStack, ReturnsWhatTheFunctionReturns) {
    rt().run([] {
        int number = 1;
        EXPECT_EQ(on_big_stack([] { return 42; }), 42);
        EXPECT_EQ(on_big_stack([] { return std::string(1000, 'x'); }).size(), 1000U);
        EXPECT_EQ(*on_big_stack([] { return std::make_unique<int>(7); }), 7);
        int& same = on_big_stack([&]() -> int& { return number; });
        EXPECT_EQ(&same, &number);
        static_assert(std::is_void_v<decltype(on_big_stack([] {}))>);
        const auto callable = [&] { ++number; };
        on_big_stack(callable);
        EXPECT_EQ(number, 2);
    });
}

TEST_P(BigStack, AnExceptionRestoresTheOldStack) {
    rt().run([] {
        const auto* before = this_green_thread().stack;
        for (int i = 0; i < 10; ++i) {
            std::string caught;
            try {
                on_big_stack([] {
                    const std::string local(100, 'y');
                    weft::yield();
                    throw std::runtime_error("too deep");
                });
            } catch (const std::runtime_error& e) {
                caught = e.what();
            }
            EXPECT_EQ(caught, "too deep");
            EXPECT_EQ(this_green_thread().stack, before);
        }
    });
}

TEST_P(BigStack, CatchesItsOwnExceptionsAcrossWaits) {
    rt().run([] {
        wait_group all;
        for (int i = 0; i < 20; ++i) {
            all.go([i] {
                const int got = on_big_stack([i] {
                    try {
                        throw i;
                    } catch (int thrown) {
                        for (int k = 0; k < 5; ++k) weft::yield();
                        try {
                            throw;
                        } catch (int again) {
                            return again == thrown ? again : -1;
                        }
                    }
                });
                EXPECT_EQ(got, i);
            });
        }
        all.wait();
    });
}

TEST_P(BigStack, MayWaitAndMigrate) {
    rt().run([] {
        chan<int> numbers;
        wait_group all;
        for (int i = 0; i < 8; ++i) {
            all.go([&, i] {
                on_big_stack([&] {
                    const uint64_t me = this_g::id();
                    for (int k = 0; k < 50; ++k) {
                        numbers.send(i);
                        weft::yield();
                    }
                    EXPECT_EQ(this_g::id(), me);
                });
            });
        }
        int sum = 0;
        for (int n = 0; n < 400; ++n) sum += *numbers.recv();
        EXPECT_EQ(sum, 50 * 28);
        all.wait();
    });
}

TEST_P(BigStack, CallsNest) {
    rt().run([] {
        const auto* own = this_green_thread().stack;
        const int got = on_big_stack(mib, [&] {
            const auto* outer = this_green_thread().stack;
            EXPECT_EQ(outer->continued(), own);
            const int inner = on_big_stack(2 * mib, [&] {
                EXPECT_EQ(this_green_thread().stack->continued(), outer);
                weft::yield();
                return 5;
            });
            EXPECT_EQ(this_green_thread().stack, outer);
            return inner + 1;
        });
        EXPECT_EQ(got, 6);
        EXPECT_EQ(this_green_thread().stack, own);
        EXPECT_EQ(own->continued(), nullptr);
    });
}

TEST_P(BigStack, IsNotUsedIfEnoughStackIsLeft) {
    rt().run([] {
        const auto* own = this_green_thread().stack;
        on_big_stack(1024, [&] { EXPECT_EQ(this_green_thread().stack, own); });
        on_big_stack(4 * mib, [&] {
            const auto* big = this_green_thread().stack;
            on_big_stack(mib, [&] { EXPECT_EQ(this_green_thread().stack, big); });
        });
        const std::size_t left = this_g::stack_left();
        on_big_stack(left + 4096, [&] { EXPECT_NE(this_green_thread().stack, own); });
    });
}

TEST_P(BigStack, APlainThreadJustCalls) {
    const std::thread::id me = std::this_thread::get_id();
    EXPECT_EQ(on_big_stack(64 * mib, [] { return std::this_thread::get_id(); }), me);
    EXPECT_GT(this_g::stack_left(), 16U * 1024);
}

TEST_P(BigStack, IsReused) {
    rt().run([] {
        const detail::stack* first = nullptr;
        for (int i = 0; i < 100; ++i) {
            on_big_stack([&] {
                if (first == nullptr) first = this_green_thread().stack;
                EXPECT_EQ(this_green_thread().stack, first);
            });
        }
    });
}

TEST_P(BigStack, ASizeAboveTheLargestClassIsRefused) {
    rt().run([] {
        bool called = false;
        EXPECT_THROW(on_big_stack(64 * mib + 1, [&] { called = true; }), std::invalid_argument);
        EXPECT_FALSE(called);
    });
}

// The mapping that fails may be that of a thread that is just starting. Hence several tries, each
// with an unmapped stack.
TEST_P(BigStack, WithoutAddressSpaceThrowsAtTheCall) {
    rt().run([] {
        int calls = 0;
        bool refused = false;
        for (const std::size_t size : {8 * mib, 16 * mib, 32 * mib, 64 * mib}) {
            const int before = calls;
            detail::os::fail_nth_for_test(detail::os::failure::map, 1);
            try {
                on_big_stack(size, [&] { ++calls; });
            } catch (const resource_exhausted&) {
                refused = true;
                EXPECT_EQ(calls, before);
            }
            detail::os::fail_nth_for_test(detail::os::failure::map, 0);
            if (refused) break;
        }
        EXPECT_TRUE(refused);
        const int before = calls;
        on_big_stack(64 * mib, [&] { ++calls; });
        EXPECT_EQ(calls, before + 1);
    });
}

TEST_P(BigStack, APinTakenInsideOrOutsideHolds) {
    rt().run([] {
        const pin here;
        const int tid = os_thread_id();
        std::unique_ptr<pin> inner;
        on_big_stack([&] {
            EXPECT_TRUE(this_g::pinned());
            for (int i = 0; i < 5; ++i) {
                sleep_for(std::chrono::microseconds(50));
                EXPECT_EQ(os_thread_id(), tid);
            }
            inner = std::make_unique<pin>();
        });
        weft::yield();
        EXPECT_EQ(os_thread_id(), tid);
        inner.reset();
        EXPECT_TRUE(this_g::pinned());
    });
    // Pinned inside, unpinned outside: by then the stack on which it was pinned is gone.
    rt().run([] {
        std::unique_ptr<pin> one;
        on_big_stack([&] { one = std::make_unique<pin>(); });
        const int tid = os_thread_id();
        for (int i = 0; i < 5; ++i) {
            sleep_for(std::chrono::microseconds(50));
            EXPECT_EQ(os_thread_id(), tid);
        }
        one.reset();
        EXPECT_FALSE(this_g::pinned());
    });
}

TEST_P(BigStack, LocksMayBeHeldAcrossIt) {
    rt().run([] {
        mutex m;
        int guarded = 0;
        wait_group all;
        for (int i = 0; i < 8; ++i) {
            all.go({.priority = i % 2 == 0 ? priority::high : priority::low}, [&] {
                for (int k = 0; k < 50; ++k) {
                    std::unique_lock<mutex> held;
                    on_big_stack([&] {
                        held = std::unique_lock(m);
                        weft::yield();
                    });
                    ++guarded;
                }
            });
        }
        all.wait();
        EXPECT_EQ(guarded, 400);
    });
}

TEST_P(BigStack, ScopesAndDeadlinesWorkOnIt) {
    rt().run([] {
        on_big_stack([] {
            int done = 0;
            scope([&](task_scope& s) { s.go([&] { done = on_big_stack([] { return 3; }); }); });
            EXPECT_EQ(done, 3);
            chan<int> never_sent;
            EXPECT_THROW(with_timeout(std::chrono::milliseconds(1), [&] { static_cast<void>(never_sent.recv()); }),
                         timed_out);
        });
    });
}

[[gnu::noinline]] void landmark_below(const std::function<void()>& f) {
    on_big_stack([&] { f(); });
    asm volatile("");
}

TEST_P(BigStack, UnwindingAndDumpsShowBothParts) {
    unwound found;
    rt().run([&] { landmark_below([&] { found = unwind_here(); }); });
    EXPECT_TRUE(found.ended);
    EXPECT_TRUE(found.contains(reinterpret_cast<void*>(&landmark_below)));

    chan<int> gate;
    park_off_thread(
        1, [&] { rt().go({.name = "visitor"}, [&] { landmark_below([&] { static_cast<void>(gate.recv()); }); }); });
    const capture_file file;
    rt().dump(file.fd(), {.form = dump_form::json});  // all frames, also the runtime's
    const std::string text = file.text();
    const std::size_t at = text.find("\"visitor\"");
    ASSERT_NE(at, text.npos) << text;
    const std::string entry = text.substr(at, text.find("}\n", at) - at);
    if (!emulated) {  // under an emulator, frames have no names
        EXPECT_NE(entry.find("run_call_on_stack"), entry.npos) << entry;
        EXPECT_NE(entry.find("call_on_big_stack"), entry.npos) << entry;
        EXPECT_NE(entry.find("run_context_entry"), entry.npos) << "the first frame of the own stack: " << entry;
    }
    gate.send(1);
    rt().drain();
}

TEST_P(BigStack, AnAbandonedOneIsFreedWithTheRuntime) {
    {
        runtime other({.procs = procs()});
        wait_group parked;
        chan<int> nobody_sends;
        other.run([&] {
            for (int i = 0; i < 10; ++i) {
                weft::go([&] {
                    on_big_stack([&] {
                        on_big_stack(4 * mib, [&] {
                            scope([&](task_scope& s) { s.go([&] { static_cast<void>(nobody_sends.recv()); }); });
                        });
                    });
                });
            }
            while (stats().parks < 20) sleep_for(std::chrono::microseconds(100));
        });
        EXPECT_EQ(other.abandon(), 20U);
    }
}

}  // namespace
}  // namespace weft::test
