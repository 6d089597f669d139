// context_test.cc: the switch without a scheduler: registers, first frame, unwinding.
#include "context/context.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "context/context_inline.h"
#include "context/frame_record.h"
#include "context/kept_registers.h"
#include "context/sanitizer.h"
#include "os/os.h"
#include "support/unwinding.h"

namespace weft::detail {
namespace {

using switch_function = void* (*)(run_context_t*, run_context_t*, void*);

[[gnu::noinline]] WEFT_NO_SANITIZE void* switch_inline(run_context_t* from, run_context_t* to, void* baton) {
    return switch_context(from, to, baton);
}

// A second stack, and switches to it and back.
class side {
public:
    side(switch_function there, switch_function back) : there_(there), back_(back) {
        const void* low = nullptr;
        std::size_t size = 0;
        os::thread_stack_bounds(low, size);
        own_fiber_.adopt_thread(low, size);
        side_fiber_.create(stack_.get(), stack_size);
        side_fiber_.begin_g();
    }

    ~side() {
        side_fiber_.end_g();
        side_fiber_.destroy();
    }

    side(const side&) = delete;
    side& operator=(const side&) = delete;

    void begin(void (*entry)(void*, void*), void* argument, std::size_t below_top = 0) {
        run_context_init(&context_, top() - below_top, entry, argument);
    }

    // Returns the side's answer.
    [[gnu::noinline]] WEFT_NO_SANITIZE void* visit(void* baton) {
        leave_stack(own_fiber_, side_fiber_, false);
        void* answer = there_(&own_, &context_, baton);
        arrive_on_stack(own_fiber_);
        return answer;
    }

    // Returns the next visit's baton.
    [[gnu::noinline]] WEFT_NO_SANITIZE void* go_back(void* answer) {
        leave_stack(side_fiber_, own_fiber_, false);
        void* baton = back_(&context_, &own_, answer);
        arrive_on_stack(side_fiber_);
        return baton;
    }

    // By an entry function.
    [[gnu::always_inline]] WEFT_NO_SANITIZE void arrive() { arrive_on_stack(side_fiber_); }

    [[nodiscard]] std::byte* top() const { return stack_.get() + stack_size; }

    [[nodiscard]] const run_context_t& context() const { return context_; }

private:
    static constexpr std::size_t stack_size = 256 * 1024;

    struct aligned_delete {
        void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
    };

    switch_function there_;
    switch_function back_;
    std::unique_ptr<std::byte[], aligned_delete> stack_{new (std::align_val_t{64}) std::byte[stack_size]};
    run_context_t own_{};
    run_context_t context_{};
    fiber own_fiber_;
    fiber side_fiber_;
};

std::string names_of(uint64_t changed) {
    std::string names;
    std::size_t at = 0;
    const std::string all = std::string(weft_kept_register_names) + ' ';
    for (; changed != 0; changed >>= 1) {
        const std::size_t end = all.find(' ', at);
        if ((changed & 1) != 0) names += all.substr(at, end - at) + ' ';
        at = end + 1;
    }
    return names;
}

// For both directions.
struct forms {
    const char* name;
    switch_function there;
    switch_function back;
};

class ContextSwitch : public ::testing::TestWithParam<forms> {
protected:
    side side_{GetParam().there, GetParam().back};
    uint64_t changed_there_ = 0;
    uint64_t changed_here_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Forms,
                         ContextSwitch,
                         ::testing::Values(forms{"assembly", &run_context_switch, &run_context_switch},
                                           forms{"inline", &switch_inline, &switch_inline},
                                           forms{"assembly_inline", &run_context_switch, &switch_inline},
                                           forms{"inline_assembly", &switch_inline, &run_context_switch}),
                         [](const auto& p) { return std::string(p.param.name); });

constexpr uint64_t seed_here = 0x1111'2222'3333'0000;
constexpr uint64_t seed_there = 0x9999'AAAA'BBBB'0000;
constexpr uint64_t stride = 0x0101'0101'0101'0100;

TEST_P(ContextSwitch, KeepsEveryCalleeSavedRegister) {
    side_.begin(
        [](void* argument, void*) {
            auto& self = *static_cast<ContextSwitch_KeepsEveryCalleeSavedRegister_Test*>(argument);
            self.side_.arrive();
            for (uint64_t i = 0;; ++i) {
                self.changed_there_ |= weft_keep_registers(
                    seed_there + i * stride, [](void* s) { static_cast<side*>(s)->go_back(nullptr); }, &self.side_);
            }
        },
        this);
    for (uint64_t i = 0; i < 10; ++i) {
        changed_here_ |=
            weft_keep_registers(seed_here + i * stride, [](void* s) { static_cast<side*>(s)->visit(nullptr); }, &side_);
    }
    EXPECT_EQ(changed_here_, 0U) << names_of(changed_here_);
    EXPECT_EQ(changed_there_, 0U) << names_of(changed_there_);
}

TEST_P(ContextSwitch, CarriesABatonEachWay) {
    side_.begin(
        [](void* argument, void* baton) {
            auto& s = *static_cast<side*>(argument);
            s.arrive();
            for (;;) baton = s.go_back(static_cast<char*>(baton) + 1);
        },
        &side_);
    char line[100];
    for (int i = 0; i < 90; i += 2) EXPECT_EQ(side_.visit(line + i), line + i + 1);
}

TEST_P(ContextSwitch, StartsTheEntryWithItsArgumentAndTheFirstBaton) {
    static thread_local void* seen_baton;
    seen_baton = nullptr;
    side_.begin(
        [](void* argument, void* baton) {
            auto& s = *static_cast<side*>(argument);
            s.arrive();
            seen_baton = baton;
            s.go_back(argument);
        },
        &side_);
    int baton = 0;
    EXPECT_EQ(side_.visit(&baton), &side_);
    EXPECT_EQ(seen_baton, &baton);
}

// A frame address is that of a frame record below the caller's stack pointer, which the ABI aligns,
// or that stack pointer.
TEST_P(ContextSwitch, AlignsTheStackOfTheEntryForEveryTop) {
    for (std::size_t below = 0; below < 33; ++below) {
        side one(GetParam().there, GetParam().back);
        one.begin(
            [](void* argument, void*) {
                auto& s = *static_cast<side*>(argument);
                s.arrive();
                s.go_back(__builtin_frame_address(0));
            },
            &one, below);
        const auto at = reinterpret_cast<uintptr_t>(one.visit(nullptr));
        const auto top = reinterpret_cast<uintptr_t>(one.top()) - below;
        EXPECT_EQ(at % 16, 0U) << below << " below the top";
        EXPECT_LT(at, top);
        EXPECT_GT(at, top - 512) << "room is wasted";
    }
}

TEST_P(ContextSwitch, UnwindingEndsAtTheFirstCodeOfTheContext) {
    struct story {
        side& s;
        test::unwound found;
    } told{side_, {}};

    side_.begin(
        [](void* argument, void*) {
            auto& t = *static_cast<story*>(argument);
            t.s.arrive();
            t.found = test::unwind_here();
            t.s.go_back(nullptr);
        },
        &told);
    side_.visit(nullptr);
    EXPECT_TRUE(told.found.ended);
    ASSERT_GE(told.found.functions.size(), 2U);
    EXPECT_EQ(told.found.functions.back(), reinterpret_cast<void*>(&run_context_entry));
}

// A function that calls no other, except at its end, may have no record.
[[gnu::noinline]] void call_nothing() { asm volatile(""); }

// Not a lambda: without optimization its conversion to a pointer adds a frame.
void pass_saved_frame_pointer(void* argument, void*) {
    auto& s = *static_cast<side*>(argument);
    s.arrive();
    call_nothing();
    s.go_back(record_of(__builtin_frame_address(0))->outer);
}

TEST_P(ContextSwitch, FramePointersEndAtTheFirstCodeOfTheContext) {
    side_.begin(&pass_saved_frame_pointer, &side_);
    EXPECT_EQ(side_.visit(&side_), nullptr);
}

[[gnu::noinline]] int throw_from_below(int depth) {
    struct counted {
        int& count;

        ~counted() { ++count; }
    };

    if (depth == 0) throw std::runtime_error("from below");
    int destroyed = 0;
    const counted here{destroyed};
    return throw_from_below(depth - 1) + destroyed;
}

TEST_P(ContextSwitch, AnExceptionTravelsOnTheSideStackAndOutlivesSwitches) {
    struct story {
        side& s;
        std::vector<std::string> caught;
    } told{side_, {}};

    side_.begin(
        [](void* argument, void*) {
            auto& t = *static_cast<story*>(argument);
            t.s.arrive();
            for (;;) {
                try {
                    throw_from_below(50);
                } catch (const std::exception& e) {
                    t.caught.emplace_back(e.what());
                }
                t.s.go_back(nullptr);
            }
        },
        &told);
    side_.visit(nullptr);
    side_.visit(nullptr);
    EXPECT_EQ(told.caught, (std::vector<std::string>{"from below", "from below"}));
}

TEST(ContextInit, RoundsTheTopDownTo16Bytes) {
    alignas(16) std::byte stack[256];
    run_context_t exact{};
    run_context_t odd{};
    run_context_init(&exact, stack + 240, [](void*, void*) {}, nullptr);
    for (int more = 1; more < 16; ++more) {
        run_context_init(&odd, stack + 240 + more, [](void*, void*) {}, nullptr);
        EXPECT_EQ(odd.sp, exact.sp);
    }
    EXPECT_EQ(reinterpret_cast<uintptr_t>(exact.sp) % 16, 0U);
    EXPECT_LT(exact.sp, stack + 240);
    EXPECT_EQ(exact.pc, reinterpret_cast<void*>(&run_context_entry));
    EXPECT_EQ(exact.fp, nullptr);
}

// Not a lambda, whose caller may be another frame.
[[gnu::noinline]] void change_frame_pointer(void* /*unused*/) {
    void* volatile* frame_pointer = &record_of(__builtin_frame_address(0))->outer;
    call_nothing();
    *frame_pointer = static_cast<char*>(*frame_pointer) + 64;
}

TEST(KeptRegisters, ALostRegisterIsNoticed) {
    EXPECT_EQ(weft_keep_registers(1, [](void*) {}, nullptr), 0U);
    // The callee saves the frame pointer on its stack.
    const uint64_t changed = weft_keep_registers(seed_here, &change_frame_pointer, nullptr);
    EXPECT_NE(changed, 0U);
    EXPECT_NE(names_of(changed), "");
}

}  // namespace
}  // namespace weft::detail
