// machine_context_linux_x86_64.cc: see machine_context.h.
#include <ucontext.h>

#include "os/machine_context.h"

namespace weft::detail::os {

machine_registers read_registers(const void* context) noexcept {
    const auto& r = static_cast<const ucontext_t*>(context)->uc_mcontext;
    return {.pc = static_cast<uintptr_t>(r.gregs[REG_RIP]),
            .sp = static_cast<uintptr_t>(r.gregs[REG_RSP]),
            .fp = static_cast<uintptr_t>(r.gregs[REG_RBP]),
            .return_address = 0};
}

void write_registers(void* context, uintptr_t pc, uintptr_t sp) noexcept {
    auto& r = static_cast<ucontext_t*>(context)->uc_mcontext;
    r.gregs[REG_RIP] = static_cast<decltype(r.gregs[REG_RIP] + 0)>(pc);
    r.gregs[REG_RSP] = static_cast<decltype(r.gregs[REG_RSP] + 0)>(sp);
}

}  // namespace weft::detail::os
