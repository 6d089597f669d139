// asm_names.h: what differs between object formats, for the assembly files.
#pragma once

// clang-format off: what looks like an operator is an assembler's prefix

#if defined(__APPLE__)
#define WEFT_SYMBOL(name) _##name
#define WEFT_FUNCTION_BEGIN(name) \
    .text;                        \
    .balign 16;                   \
    .globl WEFT_SYMBOL(name);     \
    WEFT_SYMBOL(name) :
#define WEFT_FUNCTION_END(name)
#elif defined(__ELF__)
#define WEFT_SYMBOL(name) name
#define WEFT_FUNCTION_BEGIN(name) \
    .text;                        \
    .balign 16;                   \
    .globl name;                  \
    .type name, %function;        \
    name:
#define WEFT_FUNCTION_END(name) .size name, .- name
#else
#define WEFT_SYMBOL(name) name
#define WEFT_FUNCTION_BEGIN(name) \
    .text;                        \
    .balign 16;                   \
    .globl name;                  \
    name:
#define WEFT_FUNCTION_END(name)
#endif
// clang-format on
