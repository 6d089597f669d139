// machine_context_freebsd_x86_64.cc: see machine_context.h.
#include <ucontext.h>

#include "os/machine_context.h"

namespace weft::detail::os {

machine_registers read_registers(const void* context) noexcept {
    const auto& r = static_cast<const ucontext_t*>(context)->uc_mcontext;
    return {.pc = static_cast<uintptr_t>(r.mc_rip),
            .sp = static_cast<uintptr_t>(r.mc_rsp),
            .fp = static_cast<uintptr_t>(r.mc_rbp),
            .return_address = 0};
}

void write_registers(void* context, uintptr_t pc, uintptr_t sp) noexcept {
    auto& r = static_cast<ucontext_t*>(context)->uc_mcontext;
    r.mc_rip = static_cast<decltype(r.mc_rip + 0)>(pc);
    r.mc_rsp = static_cast<decltype(r.mc_rsp + 0)>(sp);
}

}  // namespace weft::detail::os
