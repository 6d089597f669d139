// blocking_frames_test.cc: a declared call leaves its caller's frame unchanged, and finds its own
// frame as any function does.
//
// The frames of the call lie on another stack, and the compiled call returns by a jump
// (weft/detail/call_at.h). So only the caller preserves callee-saved registers. The functions here
// keep as many values as possible live across a call, in all kinds of frames.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/blocking.h>
#include <weft/weft.h>

#include "support/opaque.h"
#include "support/unwinding.h"

namespace weft::test {
namespace {

// Overwrites every register that it may change, and tells the compiler so.
[[gnu::always_inline]] inline void spoil_registers() {
#if defined(__x86_64__)
    asm volatile(
        "movq $-1, %%rbx\n\t"
        "movq $-2, %%r12\n\t"
        "movq $-3, %%r13\n\t"
        "movq $-4, %%r14\n\t"
        "movq $-5, %%r15\n\t"
        "pcmpeqd %%xmm0, %%xmm0\n\t"
        "movdqa %%xmm0, %%xmm8\n\t"
        "movdqa %%xmm0, %%xmm15"
        :
        :
        : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
          "xmm8", "xmm15", "cc", "memory");
#else
    asm volatile("" ::: "memory");
#endif
}

uintptr_t misaligned_by(const void* at, std::size_t alignment) { return reinterpret_cast<uintptr_t>(at) % alignment; }

// Keeps more values live than there are registers.
[[gnu::noinline]] int64_t hold_much(int64_t n) {
    const int64_t a = opaque(n + 1);
    const int64_t b = opaque(n + 2);
    const int64_t c = opaque(n + 3);
    const int64_t d = opaque(n + 4);
    const int64_t e = opaque(n + 5);
    const int64_t f = opaque(n + 6);
    const int64_t g = opaque(n + 7);
    const double x = opaque(static_cast<double>(n) + 0.5);
    const double y = opaque(static_cast<double>(n) + 1.5);
    const int64_t called = blocking([] {
        spoil_registers();
        return int64_t{100};
    });
    return called + a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + static_cast<int64_t>(2 * x + 4 * y) + n;
}

TEST(BlockingFrames, TheCallPreservesTheCallersValues) {
    runtime rt({.procs = 1});
    rt.run([] {
        for (int64_t n = 0; n < 3000; ++n)  // some of them are timed, or get a special start
            ASSERT_EQ(hold_much(n), 100 + 28 * n + 140 + (2 * n + 1) + (4 * n + 6) + n);
    });
}

// A frame of which the compiler knows neither the size nor the start.
[[gnu::noinline]] int64_t hold_in_a_frame_of(std::size_t size, int64_t n) {
    alignas(128) std::array<int64_t, 16> aligned{};
    auto* const dynamic = static_cast<unsigned char*>(__builtin_alloca(size));
    std::memset(dynamic, static_cast<int>(n & 0x7f), size);
    std::iota(aligned.begin(), aligned.end(), n);
    int64_t in_call = 0;
    blocking([&] {
        spoil_registers();
        in_call = std::accumulate(aligned.begin(), aligned.end(), int64_t{0});
        aligned[3] += dynamic[size - 1];
    });
    if (misaligned_by(aligned.data(), 128) != 0) return -1;
    for (std::size_t i = 0; i < size; ++i) {
        if (dynamic[i] != (n & 0x7f)) return -2;
    }
    return std::accumulate(aligned.begin(), aligned.end(), int64_t{0}) - in_call;
}

TEST(BlockingFrames, TheCallersFrameMayHaveAnySizeAndAlignment) {
    runtime rt({.procs = 1});
    rt.run([] {
        for (std::size_t size = 1; size < 1500; size += 7) {
            const auto n = static_cast<int64_t>(size);
            ASSERT_EQ(hold_in_a_frame_of(size, n), n & 0x7f);
        }
    });
}

TEST(BlockingFrames, TheCalleesFrameMayHaveAnySizeAndAlignment) {
    runtime rt({.procs = 1});
    rt.run([] {
        for (std::size_t size = 1; size < 1500; size += 7) {
            const std::size_t sum = blocking([size] {
                alignas(128) std::array<unsigned char, 256> aligned{};
                auto* const dynamic = static_cast<unsigned char*>(__builtin_alloca(size));
                std::memset(dynamic, 1, size);
                if (misaligned_by(aligned.data(), 128) != 0) return std::size_t{0};
                if (misaligned_by(__builtin_frame_address(0), 16) != 0) return std::size_t{0};
                return std::accumulate(dynamic, dynamic + size, std::size_t{0});
            });
            ASSERT_EQ(sum, size);
        }
    });
}

#if defined(__x86_64__)
// Fewer registers than the rest of the program has: an always_inline function could not be inlined
// here.
[[gnu::noinline, gnu::target("general-regs-only")]] int64_t call_from_another_target(int64_t n) {
    return n + blocking([n] { return n + 1; });
}

TEST(BlockingFrames, TheCallerMayHaveAnotherTargetAttribute) {
    runtime rt({.procs = 1});
    EXPECT_EQ(rt.run([] { return call_from_another_target(4); }), 9);
}
#endif

[[gnu::noinline]] std::string catch_and_tell(int64_t n) {
    const std::string before = "n = " + std::to_string(opaque(n));
    const double kept = opaque(static_cast<double>(n));
    try {
        blocking([&] {
            const std::vector<int> destroyed(100, 1);
            spoil_registers();
            if (destroyed.size() == 100) throw std::runtime_error(before + " thrown");
        });
    } catch (const std::runtime_error& e) {
        return e.what() + std::to_string(static_cast<int64_t>(kept));
    }
    return "nothing thrown";
}

TEST(BlockingFrames, AHandlerOfTheCallsExceptionKeepsItsValues) {
    runtime rt({.procs = 1});
    rt.run([] {
        for (int64_t n = 0; n < 3000; ++n) {
            const std::string number = std::to_string(n);
            ASSERT_EQ(catch_and_tell(n), "n = " + number + " thrown" + number);
        }
    });
}

// ---- Unwinding.

[[gnu::noinline]] unwound look_from_a_call() {
    unwound found = blocking([] { return unwind_here(); });
    asm volatile("" ::: "memory");  // prevents a tail call
    return found;
}

[[gnu::noinline]] unwound look_from_deeper() {
    unwound found = look_from_a_call();
    asm volatile("" ::: "memory");  // prevents a tail call
    return found;
}

// Debuggers, profilers and crash reports need this.
TEST(BlockingFrames, UnwindersFindTheCaller) {
    runtime rt({.procs = 1});
    const unwound found = rt.run([] { return look_from_deeper(); });
    const auto at = [&](unwound (*f)()) {
        return std::find(found.functions.begin(), found.functions.end(), reinterpret_cast<const void*>(f)) -
               found.functions.begin();
    };
    ASSERT_LT(at(look_from_a_call), std::ssize(found.functions));
    EXPECT_EQ(at(look_from_deeper), at(look_from_a_call) + 1);
}

}  // namespace
}  // namespace weft::test
