// running_here_test.cc: the frames of interrupted code, and what machine code says of calls.
#include "debug/running_here.h"

#include <sys/mman.h>
#include <unwind.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

#include "context/direct_call.h"
#include "os/interrupt_signal.h"
#include "os/os.h"
#include "os/signals.h"
#include "support/build.h"

namespace weft::detail {
namespace {

const void* function_before(const void* pc) {
    return _Unwind_FindEnclosingFunction(const_cast<char*>(static_cast<const char*>(pc)) - 1);
}

// GCC's unwinder looks one byte before the address that it gets.
const void* function_at(const void* pc) { return function_before(static_cast<const char*>(pc) + 2); }

const void* returned_to = nullptr;

[[gnu::noinline]] void note_return() {
    returned_to = __builtin_return_address(0);
    asm volatile("");
}

[[gnu::noinline]] void call_note_return() {
    note_return();
    asm volatile("");
}

template <std::size_t Size>
void copy(unsigned char (&to)[Size], uintptr_t from) {
    std::memcpy(to, reinterpret_cast<const void*>(from), Size);
}

constexpr bool knows_calls = call_size > 1;

TEST(DirectCall, TheCodeBeforeAReturnAddressNamesTheFunction) {
    if (!knows_calls) GTEST_SKIP() << "not read on this processor";
    call_note_return();
    const auto back = reinterpret_cast<uintptr_t>(returned_to);
    unsigned char code[call_size];
    copy(code, back - call_size);
    EXPECT_EQ(target_of_call(code, back), reinterpret_cast<uintptr_t>(&note_return));
    unsigned char other[call_size];
    copy(other, reinterpret_cast<uintptr_t>(&note_return));
    EXPECT_NE(target_of_call(other, back), reinterpret_cast<uintptr_t>(&note_return));
}

TEST(DirectCall, AFunctionThatCallsOthersBeginsWithAFrame) {
    if (!knows_calls) GTEST_SKIP() << "not read on this processor";
    if (test::built_with_sanitizer) GTEST_SKIP() << "a sanitizer puts instructions before it";
    unsigned char code[entry_size];
    copy(code, reinterpret_cast<uintptr_t>(&call_note_return));
    EXPECT_TRUE(begins_with_frame(code));
}

running_here seen;
char* page = nullptr;

// Calls no other function, so it may have no frame, or half of one.
[[gnu::noinline]] void write_to(volatile char* at, char value) { *at = value; }

[[gnu::noinline]] void call_write() {
    write_to(page, 1);
    asm volatile("");
}

[[gnu::noinline]] void call_caller() {
    call_write();
    asm volatile("");
}

void on_fault(int signal, siginfo_t*, void* context) {
    seen.read(os::place_of(signal, context));
    mprotect(page, os::page_size(), PROT_READ | PROT_WRITE);
}

TEST(RunningHere, ReadsTheFramesBehindAFunctionThatCallsNoOther) {
    if (test::built_with_sanitizer) GTEST_SKIP() << "it handles the signal itself";
    void* const mapped = mmap(nullptr, os::page_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    page = static_cast<char*>(mapped);
    struct sigaction action{};
    struct sigaction before{};
    action.sa_sigaction = &on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before);
    call_caller();
    sigaction(SIGSEGV, &before, nullptr);
    EXPECT_EQ(*page, 1);
    munmap(mapped, os::page_size());

    ASSERT_GE(seen.count, 3);
    EXPECT_EQ(function_at(seen.pcs[0]), reinterpret_cast<void*>(&write_to));
    int next = 1;
    if (function_before(seen.pcs[1]) == reinterpret_cast<void*>(&call_write)) {
        next = 2;
    } else {
        EXPECT_EQ(function_before(seen.return_without_frame), reinterpret_cast<void*>(&call_write));
    }
    EXPECT_EQ(function_before(seen.pcs[next]), reinterpret_cast<void*>(&call_caller));
    EXPECT_NE(function_before(seen.pcs[next + 1]), nullptr) << "the test itself";
}

}  // namespace
}  // namespace weft::detail
