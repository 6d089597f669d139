// machine_context_linux_riscv64.cc: see machine_context.h.
//
// The frame of a function that calls no other may lack the return address; see
// context/frame_record.h. Then the word in its place is the outer frame pointer: the address of a
// frame further up the stack, and not of code. Such a function counts as one without a frame
// (context/direct_call.h): its return address is in the register.
#include <ucontext.h>

#include "os/commit.h"
#include "os/machine_context.h"

namespace weft::detail::os {

namespace {

constexpr uintptr_t frame_max = uintptr_t{1} << 20;  // a larger step is not a frame
constexpr uintptr_t stack_alignment = 16;

bool may_be_frame(uintptr_t fp, uintptr_t above) noexcept {
    return fp > above && fp - above <= frame_max && fp % stack_alignment == 0;
}

uintptr_t frame_with_record(uintptr_t fp, uintptr_t sp) noexcept {
    if (!may_be_frame(fp, sp)) return fp;
    const uintptr_t last_word = fp - sizeof(uintptr_t);
    if (!is_readable(reinterpret_cast<const void*>(last_word))) return fp;      // NOLINT(performance-no-int-to-ptr)
    const auto word = *reinterpret_cast<const volatile uintptr_t*>(last_word);  // NOLINT: as above
    return may_be_frame(word, fp - 1) ? word : fp;
}

}  // namespace

machine_registers read_registers(const void* context) noexcept {
    const auto& r = static_cast<const ucontext_t*>(context)->uc_mcontext.__gregs;
    const uintptr_t sp = r[REG_SP];
    return {.pc = r[REG_PC], .sp = sp, .fp = frame_with_record(r[REG_S0], sp), .return_address = r[REG_RA]};
}

void write_registers(void* context, uintptr_t pc, uintptr_t sp) noexcept {
    auto& r = static_cast<ucontext_t*>(context)->uc_mcontext.__gregs;
    r[REG_PC] = pc;
    r[REG_SP] = sp;
}

}  // namespace weft::detail::os
