// elf_notes_x86_64.h: notes for an ELF linker; the last include of an assembly file.
#pragma once

// clang-format off: assembly to the end
#if defined(__ELF__)
    .section .note.GNU-stack, "", %progbits    // no executable stack
    .section .note.gnu.property, "a"           // IBT: indirect targets start with endbr64
    .p2align 3
    .long 4, 16, 5
    .asciz "GNU"
    .long 0xc0000002, 4, 1, 0
#endif
