// registers.h: the registers of this machine's processor: where a core file has them, and their
// numbers in DWARF.
#pragma once

#include <elf.h>
#include <sys/procfs.h>

namespace weft::observe::detail {

struct register_numbers {
    unsigned machine;  // e_machine of an ELF file
    int sp_in_core;    // index in elf_gregset_t
    int pc_in_core;
    int fp_in_core;
    int sp;  // DWARF's numbers
    int fp;
    int pc;                      // -1: DWARF has none
    bool pushes_return_address;  // a call does, so that it lies below the caller's stack pointer
    unsigned record_below_fp;    // bytes: context/frame_record.h
};

inline constexpr register_numbers x86_64_registers{EM_X86_64, 19, 16, 4, 7, 6, 16, true, 0};
inline constexpr register_numbers aarch64_registers{EM_AARCH64, 31, 32, 29, 31, 29, -1, false, 0};
inline constexpr register_numbers riscv64_registers{EM_RISCV, 2, 0, 8, 2, 8, -1, false, 16};

inline constexpr int registers_of_x86_64 = 27;
inline constexpr int registers_of_aarch64 = 34;
inline constexpr int registers_of_riscv64 = 32;
static_assert(ELF_NGREG == registers_of_x86_64 || ELF_NGREG == registers_of_aarch64 ||
                  ELF_NGREG == registers_of_riscv64,
              "add the numbers of this processor");

inline constexpr register_numbers own_registers = ELF_NGREG == registers_of_x86_64    ? x86_64_registers
                                                  : ELF_NGREG == registers_of_aarch64 ? aarch64_registers
                                                                                      : riscv64_registers;

}  // namespace weft::observe::detail
