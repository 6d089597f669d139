// machine_context.h: the registers of interrupted code, as a signal handler gets them: part of the
// porting contract. A file for each system and processor.
//
// Threads: in a signal handler, about its third argument.
#pragma once

#include <cstdint>

namespace weft::detail::os {

struct machine_registers {
    uintptr_t pc;
    uintptr_t sp;
    uintptr_t fp;
    uintptr_t return_address;  // 0: not in a register
};

[[nodiscard]] machine_registers read_registers(const void* context) noexcept;

// The code continues there when the handler returns.
void write_registers(void* context, uintptr_t pc, uintptr_t sp) noexcept;

}  // namespace weft::detail::os
