// machine_context_darwin_aarch64.cc: see machine_context.h.
#include <sys/ucontext.h>

#include "os/machine_context.h"

namespace weft::detail::os {

machine_registers read_registers(const void* context) noexcept {
    const auto& r = static_cast<const ucontext_t*>(context)->uc_mcontext->__ss;
    return {.pc = static_cast<uintptr_t>(r.__pc),
            .sp = static_cast<uintptr_t>(r.__sp),
            .fp = static_cast<uintptr_t>(r.__fp),
            .return_address = static_cast<uintptr_t>(r.__lr)};
}

void write_registers(void* context, uintptr_t pc, uintptr_t sp) noexcept {
    auto& r = static_cast<ucontext_t*>(context)->uc_mcontext->__ss;
    r.__pc = static_cast<decltype(r.__pc + 0)>(pc);
    r.__sp = static_cast<decltype(r.__sp + 0)>(sp);
}

}  // namespace weft::detail::os
