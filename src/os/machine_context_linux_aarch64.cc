// machine_context_linux_aarch64.cc: see machine_context.h.
#include <ucontext.h>

#include "os/machine_context.h"

namespace weft::detail::os {

machine_registers read_registers(const void* context) noexcept {
    const auto& r = static_cast<const ucontext_t*>(context)->uc_mcontext;
    return {.pc = static_cast<uintptr_t>(r.pc),
            .sp = static_cast<uintptr_t>(r.sp),
            .fp = static_cast<uintptr_t>(r.regs[29]),
            .return_address = static_cast<uintptr_t>(r.regs[30])};
}

void write_registers(void* context, uintptr_t pc, uintptr_t sp) noexcept {
    auto& r = static_cast<ucontext_t*>(context)->uc_mcontext;
    r.pc = static_cast<decltype(r.pc + 0)>(pc);
    r.sp = static_cast<decltype(r.sp + 0)>(sp);
}

}  // namespace weft::detail::os
