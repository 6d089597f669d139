// windows_switch_x86_64_test.cc: the switch for Windows, tested on Linux.
//
// gs points to the test's TIB; see docs/context_switch.md.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

#include "context/context.h"
#include "context/sanitizer.h"

#if defined(__linux__)

// NOLINTBEGIN(readability-identifier-naming): as test/CMakeLists.txt says
extern "C" {
[[gnu::ms_abi]] void* weft_windows_switch(run_context_t* from, run_context_t* to, void* baton);
[[gnu::ms_abi]] void weft_windows_call_on_stack(void* top, void (*function)(void*), void* argument);
void weft_windows_entry();
}

// NOLINTEND(readability-identifier-naming)

namespace weft::detail {
namespace {

// rbx, rbp, rdi, rsi, r12 to r15, xmm6 to xmm15.
struct kept_registers {
    uint64_t integers[8];
    uint64_t vectors[10][2];
};

}  // namespace
}  // namespace weft::detail

// Loads the registers, switches, and stores their values on return in the same place.
extern "C" void* weft_windows_switch_and_look(run_context_t* from,
                                              run_context_t* to,
                                              void* baton,
                                              weft::detail::kept_registers* registers);

asm(R"(
    .text
    .balign 16
    .globl weft_windows_switch_and_look
    .type weft_windows_switch_and_look, %function
weft_windows_switch_and_look:
    endbr64
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    pushq %rcx
    subq $32, %rsp
    movq %rcx, %rax
    movq %rdi, %rcx
    movq %rdx, %r8
    movq %rsi, %rdx
    .macro weft_each_integer operation
    \operation 0, %rbx
    \operation 8, %rbp
    \operation 16, %rdi
    \operation 24, %rsi
    \operation 32, %r12
    \operation 40, %r13
    \operation 48, %r14
    \operation 56, %r15
    .endm
    .macro weft_each_vector operation
    \operation 64, %xmm6
    \operation 80, %xmm7
    \operation 96, %xmm8
    \operation 112, %xmm9
    \operation 128, %xmm10
    \operation 144, %xmm11
    \operation 160, %xmm12
    \operation 176, %xmm13
    \operation 192, %xmm14
    \operation 208, %xmm15
    .endm
    .macro weft_fill offset, register
    movq \offset(%rax), \register
    .endm
    .macro weft_fill_vector offset, register
    movups \offset(%rax), \register
    .endm
    weft_each_integer weft_fill
    weft_each_vector weft_fill_vector
    callq weft_windows_switch
    movq 32(%rsp), %rcx
    .macro weft_look offset, register
    movq \register, \offset(%rcx)
    .endm
    .macro weft_look_vector offset, register
    movups \register, \offset(%rcx)
    .endm
    weft_each_integer weft_look
    weft_each_vector weft_look_vector
    addq $40, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    retq
    .size weft_windows_switch_and_look, .- weft_windows_switch_and_look
)");

namespace weft::detail {
namespace {

constexpr int set_gs = 0x1001;  // ARCH_SET_GS

struct bounds {
    uint64_t base;
    uint64_t limit;
    uint64_t deallocation;
    uint64_t exceptions;

    bool operator==(const bounds&) const = default;
};

class WindowsSwitch : public ::testing::Test {
protected:
    void SetUp() override {
        if (sanitized) GTEST_SKIP() << "the sanitizer is not told of these stacks";
        if (syscall(SYS_arch_prctl, set_gs, tib_) != 0) GTEST_SKIP() << "gs cannot be set here";
        put({1, 2, 3, 7});
    }

    ~WindowsSwitch() override { syscall(SYS_arch_prctl, set_gs, 0); }

    // As run_context_init.
    void make(void (*entry)()) {
        auto* frame = reinterpret_cast<uint64_t*>(stack_ + sizeof(stack_)) - 4;
        frame[0] = reinterpret_cast<uint64_t>(entry);
        frame[1] = reinterpret_cast<uint64_t>(this);
        frame[2] = 0;
        frame[3] = 0;
        other_ = {frame, reinterpret_cast<void*>(&weft_windows_entry), nullptr};
    }

    [[nodiscard]] bounds seen() const { return {tib_[0x08 / 8], tib_[0x10 / 8], tib_[0x1478 / 8], tib_[0]}; }

    void put(const bounds& b) {
        tib_[0x08 / 8] = b.base;
        tib_[0x10 / 8] = b.limit;
        tib_[0x1478 / 8] = b.deallocation;
        tib_[0] = b.exceptions;
    }

    [[nodiscard]] uint64_t top() const { return reinterpret_cast<uint64_t>(stack_ + sizeof(stack_)); }

    alignas(16) std::byte stack_[64 * 1024];
    uint64_t tib_[0x1500 / 8] = {};
    run_context_t mine_ = {};
    run_context_t other_ = {};
    bounds found_[2] = {};
    uint64_t misaligned_ = 0;
    void* batons_[2] = {};
    void* arguments_[2] = {};

    // Overwrites all registers and switches back, twice.
    [[gnu::ms_abi]] static void overwrite(void* argument, void* baton) {
        auto& t = *static_cast<WindowsSwitch*>(argument);
        for (int i = 0; i < 2; ++i) {
            t.batons_[i] = baton;
            t.found_[i] = t.seen();
            t.misaligned_ |= reinterpret_cast<uint64_t>(__builtin_frame_address(0)) % 16;
            t.put({11, 12, 13, 0});
            asm volatile(
                "xorl %%ebx, %%ebx\n\txorl %%edi, %%edi\n\txorl %%esi, %%esi\n\txorl %%r12d, %%r12d\n\t"
                "xorl %%r13d, %%r13d\n\txorl %%r14d, %%r14d\n\txorl %%r15d, %%r15d\n\t"
                "xorps %%xmm6, %%xmm6\n\txorps %%xmm7, %%xmm7\n\txorps %%xmm8, %%xmm8\n\txorps %%xmm9, %%xmm9\n\t"
                "xorps %%xmm10, %%xmm10\n\txorps %%xmm11, %%xmm11\n\txorps %%xmm12, %%xmm12\n\t"
                "xorps %%xmm13, %%xmm13\n\txorps %%xmm14, %%xmm14\n\txorps %%xmm15, %%xmm15"
                :
                :
                : "rbx", "rdi", "rsi", "r12", "r13", "r14", "r15", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                  "xmm12", "xmm13", "xmm14", "xmm15");
            baton = weft_windows_switch(&t.other_, &t.mine_, &t);
        }
    }

    [[gnu::ms_abi]] static void look_around(void* argument) {
        auto& t = *static_cast<WindowsSwitch*>(argument);
        const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
        t.found_[0] = t.seen();
        t.misaligned_ = here % 16;
        t.arguments_[0] = here < t.top() && here >= t.top() - sizeof(t.stack_) ? argument : nullptr;
    }
};

TEST_F(WindowsSwitch, KeepsEveryNonvolatileRegisterAndTheBaton) {
    make(reinterpret_cast<void (*)()>(&overwrite));
    for (uint64_t i = 0; i < 2; ++i) {
        kept_registers before;
        for (uint64_t r = 0; r < 8; ++r) before.integers[r] = 1000 * (i + 1) + r;
        for (uint64_t r = 0; r < 10; ++r) {
            before.vectors[r][0] = 2000 * (i + 1) + r;
            before.vectors[r][1] = 3000 * (i + 1) + r;
        }
        kept_registers registers = before;
        void* returned = weft_windows_switch_and_look(&mine_, &other_, &batons_[i], &registers);
        EXPECT_EQ(returned, this);
        EXPECT_EQ(batons_[i], &batons_[i]);
        EXPECT_EQ(std::memcmp(&registers, &before, sizeof(before)), 0) << "switch " << i;
    }
    EXPECT_EQ(misaligned_, 0U);
}

TEST_F(WindowsSwitch, UpdatesTheStackBoundsInTheInformationBlock) {
    make(reinterpret_cast<void (*)()>(&overwrite));
    weft_windows_switch(&mine_, &other_, nullptr);
    EXPECT_EQ(found_[0], (bounds{top(), 0, UINT64_MAX, UINT64_MAX})) << "of a context that has just been made";
    EXPECT_EQ(seen(), (bounds{1, 2, 3, 7})) << "ours are back";
    put({4, 5, 6, 0});
    weft_windows_switch(&mine_, &other_, nullptr);
    EXPECT_EQ(found_[1], (bounds{11, 12, 13, 0})) << "what the other one had when it left";
    EXPECT_EQ(seen(), (bounds{4, 5, 6, 0}));
}

TEST_F(WindowsSwitch, ACallOnAnotherStackHasBoundsThatCoverBoth) {
    weft_windows_call_on_stack(reinterpret_cast<void*>(top() - 8), reinterpret_cast<void (*)(void*)>(&look_around),
                               static_cast<void*>(this));
    EXPECT_EQ(found_[0], (bounds{UINT64_MAX, 0, UINT64_MAX, UINT64_MAX}));
    EXPECT_EQ(misaligned_, 0U);
    EXPECT_EQ(arguments_[0], this) << "it runs on that stack";
    EXPECT_EQ(seen(), (bounds{1, 2, 3, 7}));
}

}  // namespace
}  // namespace weft::detail

#endif
