// machine_context_freebsd_aarch64.cc: see machine_context.h.
#include <ucontext.h>

#include "os/machine_context.h"

namespace weft::detail::os {

machine_registers read_registers(const void* context) noexcept {
    const auto& r = static_cast<const ucontext_t*>(context)->uc_mcontext;
    return {.pc = static_cast<uintptr_t>(r.mc_gpregs.gp_elr),
            .sp = static_cast<uintptr_t>(r.mc_gpregs.gp_sp),
            .fp = static_cast<uintptr_t>(r.mc_gpregs.gp_x[29]),
            .return_address = static_cast<uintptr_t>(r.mc_gpregs.gp_lr)};
}

void write_registers(void* context, uintptr_t pc, uintptr_t sp) noexcept {
    auto& r = static_cast<ucontext_t*>(context)->uc_mcontext;
    r.mc_gpregs.gp_elr = static_cast<decltype(r.mc_gpregs.gp_elr + 0)>(pc);
    r.mc_gpregs.gp_sp = static_cast<decltype(r.mc_gpregs.gp_sp + 0)>(sp);
}

}  // namespace weft::detail::os
