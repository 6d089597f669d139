// machine_context_darwin_x86_64.cc: see machine_context.h.
#include <sys/ucontext.h>

#include "os/machine_context.h"

namespace weft::detail::os {

machine_registers read_registers(const void* context) noexcept {
    const auto& r = static_cast<const ucontext_t*>(context)->uc_mcontext->__ss;
    return {.pc = static_cast<uintptr_t>(r.__rip),
            .sp = static_cast<uintptr_t>(r.__rsp),
            .fp = static_cast<uintptr_t>(r.__rbp),
            .return_address = 0};
}

void write_registers(void* context, uintptr_t pc, uintptr_t sp) noexcept {
    auto& r = static_cast<ucontext_t*>(context)->uc_mcontext->__ss;
    r.__rip = static_cast<decltype(r.__rip + 0)>(pc);
    r.__rsp = static_cast<decltype(r.__rsp + 0)>(sp);
}

}  // namespace weft::detail::os
