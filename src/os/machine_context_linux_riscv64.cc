// machine_context_linux_riscv64.cc: see machine_context.h.
#include <ucontext.h>

#include "os/machine_context.h"

namespace weft::detail::os {

machine_registers read_registers(const void* context) noexcept {
    const auto& r = static_cast<const ucontext_t*>(context)->uc_mcontext;
    return {.pc = static_cast<uintptr_t>(r.__gregs[REG_PC]),
            .sp = static_cast<uintptr_t>(r.__gregs[REG_SP]),
            .fp = static_cast<uintptr_t>(r.__gregs[REG_S0]),
            .return_address = static_cast<uintptr_t>(r.__gregs[REG_RA])};
}

void write_registers(void* context, uintptr_t pc, uintptr_t sp) noexcept {
    auto& r = static_cast<ucontext_t*>(context)->uc_mcontext;
    r.__gregs[REG_PC] = static_cast<decltype(r.__gregs[REG_PC] + 0)>(pc);
    r.__gregs[REG_SP] = static_cast<decltype(r.__gregs[REG_SP] + 0)>(sp);
}

}  // namespace weft::detail::os
