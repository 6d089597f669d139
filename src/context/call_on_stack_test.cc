// call_on_stack_test.cc: a call on another stack of the thread: registers, alignment, unwinding
// between the stacks.
#include "context/call_on_stack.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "context/frame_record.h"
#include "context/kept_registers.h"
#include "context/sanitizer.h"
#include "os/os.h"
#include "support/unwinding.h"

namespace weft::detail {
namespace {

class other_stack {
public:
    other_stack() {
        const void* low = nullptr;
        std::size_t size = 0;
        os::thread_stack_bounds(low, size);
        own_fiber_.adopt_thread(low, size);
        fiber_.create(memory_->data(), stack_size);
        fiber_.begin_g();
    }

    // For calls from around's stack.
    explicit other_stack(other_stack& around) : other_stack() { caller_ = &around.fiber_; }

    other_stack(const other_stack&) = delete;
    other_stack& operator=(const other_stack&) = delete;

    ~other_stack() {
        fiber_.end_g();
        fiber_.destroy();
    }

    // Leaves the last below_top bytes of this stack unused.
    template <class F>
    void run(F f, std::size_t below_top = 0) {
        closure<F> c{this, std::move(f)};
        call(top() - below_top, &closure<F>::run, &c);
    }

    [[nodiscard]] std::byte* top() const { return memory_->data() + stack_size; }

    [[nodiscard]] bool holds(const void* address) const {
        const auto* at = static_cast<const std::byte*>(address);
        return at >= memory_->data() && at < top();
    }

private:
    static constexpr std::size_t stack_size = 256 * 1024;

    struct alignas(64) memory : std::array<std::byte, stack_size> {};

    template <class F>
    struct closure {
        other_stack* on;
        F f;

        WEFT_NO_SANITIZE static void run(void* argument) {
            auto* self = static_cast<closure*>(argument);
            arrive_on_stack(self->on->fiber_);
            call_f(*self);
            leave_stack(self->on->fiber_, *self->on->caller_, false);
        }

        [[gnu::noinline]] static void call_f(closure& self) { self.f(); }
    };

    [[gnu::noinline]] WEFT_NO_SANITIZE void call(void* at, void (*function)(void*), void* argument) {
        leave_stack(*caller_, fiber_, false);
        run_call_on_stack(at, function, argument);
        arrive_on_stack(*caller_);
    }

    std::unique_ptr<memory> memory_ = std::make_unique<memory>();
    fiber own_fiber_;
    fiber fiber_;
    fiber* caller_ = &own_fiber_;
};

TEST(CallOnStack, CallsTheFunctionOnTheOtherStack) {
    other_stack other;
    const void* there = nullptr;
    int calls = 0;
    for (int i = 0; i < 100; ++i) {
        other.run([&] {
            there = __builtin_frame_address(0);
            ++calls;
        });
    }
    EXPECT_EQ(calls, 100);
    EXPECT_TRUE(other.holds(there));
    EXPECT_FALSE(other.holds(__builtin_frame_address(0)));
}

TEST(CallOnStack, PassesTheArgument) {
    alignas(16) static std::byte stack[16 * 1024];
    const void* seen = nullptr;

    struct story {
        const void** seen;
    } about{&seen};

    run_call_on_stack(
        stack + sizeof(stack), [](void* argument) { *static_cast<story*>(argument)->seen = argument; }, &about);
    EXPECT_EQ(seen, &about);
}

TEST(CallOnStack, KeepsEveryCalleeSavedRegister) {
    struct story {
        other_stack other;
        uint64_t changed_inside = 0;
    } about;

    for (uint64_t i = 0; i < 10; ++i) {
        const uint64_t changed = weft_keep_registers(
            0x1111'2222'3333'0000 + i,
            [](void* argument) {
                auto& t = *static_cast<story*>(argument);
                t.other.run(
                    [&t] { t.changed_inside |= weft_keep_registers(0x9999'AAAA'BBBB'0000, [](void*) {}, nullptr); });
            },
            &about);
        EXPECT_EQ(changed, 0U);
        EXPECT_EQ(about.changed_inside, 0U);
    }
}

// Not a lambda: GCC does not align the stack for the function in which its body is.
void note_frame(void* argument) { *static_cast<const void**>(argument) = __builtin_frame_address(0); }

// At a call, the ABI aligns the stack pointer; a frame address is at it, or that of a frame record
// below.
TEST(CallOnStack, AlignsTheTopDownAndTouchesNothingAboveIt) {
    alignas(16) static std::byte stack[16 * 1024 + 64];
    std::byte* const end = stack + 16 * 1024;
    for (int below = 0; below < 33; ++below) {
        for (int i = 0; i < 64; ++i) end[i] = std::byte{0x5A};
        for (int i = 1; i <= below; ++i) end[-i] = std::byte{0x5A};
        const void* frame = nullptr;
        run_call_on_stack(end - below, &note_frame, &frame);
        const auto at = reinterpret_cast<uintptr_t>(frame);
        EXPECT_EQ(at % 16, 0U) << below;
        EXPECT_LT(frame, end - below);
        EXPECT_GT(at, reinterpret_cast<uintptr_t>(end - below) - 512) << "room is wasted";
        for (int i = -below; i < 64; ++i) ASSERT_EQ(end[i], std::byte{0x5A}) << i << ", top " << below << " below";
    }
}

[[gnu::noinline]] void landmark(other_stack& other, test::unwound& found) {
    other.run([&found] { found = test::unwind_here(); });
    asm volatile("");  // no tail call
}

TEST(CallOnStack, UnwindingPassesFromTheOtherStackToTheCaller) {
    other_stack other;
    test::unwound found;
    landmark(other, found);
    EXPECT_TRUE(found.contains(reinterpret_cast<void*>(&run_call_on_stack)));
    EXPECT_TRUE(found.contains(reinterpret_cast<void*>(&landmark)));
    const test::unwound here = test::unwind_here();
    EXPECT_EQ(found.ended, here.ended);
    EXPECT_GT(found.functions.size(), here.functions.size());
}

[[gnu::noinline]] void need_a_record() { asm volatile(""); }

// A function that calls no other may have no record.
TEST(CallOnStack, FramePointersLeadFromTheOtherStackToTheCaller) {
    if (!records_are_linked) GTEST_SKIP() << "frame pointers of this system do not point to records";
    other_stack other;
    const void* const own = __builtin_frame_address(0);
    bool arrived = false;
    other.run([&] {
        const void* at = __builtin_frame_address(0);
        need_a_record();
        for (int i = 0; i < 20 && at != nullptr && !arrived; ++i) {
            at = record_of(const_cast<void*>(at))->outer;
            arrived = at == own;
        }
    });
    EXPECT_TRUE(arrived);
}

TEST(CallOnStack, AnExceptionLeavesTheOtherStack) {
    struct counted {
        int& count;

        ~counted() { ++count; }
    };

    int destroyed = 0;
    std::string caught;
    alignas(16) static std::byte stack[64 * 1024];
    const auto thrower = [](void* argument) {
        const counted here{*static_cast<int*>(argument)};
        throw std::runtime_error("from there");
    };
    try {
        run_call_on_stack(stack + sizeof(stack), thrower, &destroyed);
    } catch (const std::exception& e) {
        caught = e.what();
    }
    EXPECT_EQ(caught, "from there");
    EXPECT_EQ(destroyed, 1);
}

TEST(CallOnStack, CallsNest) {
    other_stack first;
    other_stack second(first);
    std::size_t frames = 0;
    std::string order;
    first.run([&] {
        order += "1";
        const std::size_t outside = test::unwind_here().functions.size();
        second.run([&] {
            order += "2";
            EXPECT_TRUE(second.holds(__builtin_frame_address(0)));
            frames = test::unwind_here().functions.size();
        });
        EXPECT_GT(frames, outside);
        EXPECT_TRUE(first.holds(__builtin_frame_address(0)));
        order += "3";
    });
    EXPECT_EQ(order, "123");
}

}  // namespace
}  // namespace weft::detail
