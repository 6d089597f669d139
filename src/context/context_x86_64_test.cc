// context_x86_64_test.cc: checks the assembly's unwind information at each instruction.
//
// The test single-steps a round trip through the switch, and the trap handler unwinds each time.
#include <ucontext.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "context/context.h"
#include "support/build.h"
#include "support/unwinding.h"

namespace weft::detail {
namespace {

constexpr int64_t trap_flag = 0x100;  // single-step mode
constexpr std::size_t stack_size = 64 * 1024;

struct {
    run_context_t here{};
    run_context_t there{};
    int steps_in_switch = 0;
    int steps_in_entry = 0;
    int lost = 0;  // traces without an end, or without either caller
    const void* first_lost = nullptr;
} story;

[[gnu::noinline]] void visit() {
    asm volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" : : "i"(trap_flag) : "memory", "cc");
    run_context_switch(&story.here, &story.there, nullptr);
    run_context_switch(&story.here, &story.there, nullptr);
    asm volatile("pushfq\n\tandq %0, (%%rsp)\n\tpopfq" : : "i"(~trap_flag) : "memory", "cc");
}

[[gnu::noinline]] void host(void*, void*) {
    for (;;) run_context_switch(&story.there, &story.here, nullptr);
}

void on_step(int, siginfo_t*, void* context) {
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    auto* pc = reinterpret_cast<void*>(registers[REG_RIP]);
    const void* function = _Unwind_FindEnclosingFunction(pc);
    const bool in_entry = function == reinterpret_cast<void*>(&run_context_entry);
    if (function != reinterpret_cast<void*>(&run_context_switch) && !in_entry) return;
    ++(in_entry ? story.steps_in_entry : story.steps_in_switch);

    const test::unwound found = test::unwind_here();
    const bool known =
        in_entry ? found.functions.back() == function
                 : found.contains(reinterpret_cast<void*>(&visit)) != found.contains(reinterpret_cast<void*>(&host));
    if (found.ended && known) return;
    if (story.lost++ == 0) story.first_lost = pc;
}

TEST(ContextUnwinding, WorksAtEachInstructionOfTheSwitch) {
    if (test::built_with_sanitizer) GTEST_SKIP() << "the sanitizer would have to be told of the second stack";
    if (test::is_llvm_unwinder())
        GTEST_SKIP() << "LLVM's libunwind takes the row of the instruction before the one that a signal interrupted";
    const auto stack = std::make_unique<std::byte[]>(stack_size);
    run_context_init(&story.there, stack.get() + stack_size, &host, nullptr);
    struct sigaction action{};
    struct sigaction before{};
    action.sa_sigaction = &on_step;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, &before);
    visit();
    sigaction(SIGTRAP, &before, nullptr);
    EXPECT_EQ(story.lost, 0) << "first at " << story.first_lost;
    EXPECT_GT(story.steps_in_switch, 60) << "the processor did not step";
    EXPECT_GT(story.steps_in_entry, 4);
}

}  // namespace
}  // namespace weft::detail
