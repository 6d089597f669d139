// asm_names.h: differences between object formats, for assembly files.
#pragma once

// clang-format off: what looks like an operator is an assembler's prefix

// In Apple's Arm assembler a semicolon begins a comment.
#if defined(__APPLE__) && defined(__aarch64__)
#define WEFT_THEN %%
#else
#define WEFT_THEN ;
#endif

#if defined(__APPLE__)
#define WEFT_SYMBOL(name) _##name
#define WEFT_CALLED(name) _##name
#define WEFT_FUNCTION_BEGIN(name)         \
    .text WEFT_THEN                       \
    .balign 16 WEFT_THEN                  \
    .globl WEFT_SYMBOL(name) WEFT_THEN    \
    WEFT_SYMBOL(name) :
#define WEFT_FUNCTION_END(name)
#elif defined(__ELF__)
#define WEFT_SYMBOL(name) name
#define WEFT_CALLED(name) name@PLT
#define WEFT_FUNCTION_BEGIN(name)         \
    .text WEFT_THEN                       \
    .balign 16 WEFT_THEN                  \
    .globl name WEFT_THEN                 \
    .type name, %function WEFT_THEN       \
    name:
#define WEFT_FUNCTION_END(name) .size name, .- name
#else
#define WEFT_SYMBOL(name) name
#define WEFT_CALLED(name) name
#define WEFT_FUNCTION_BEGIN(name)         \
    .text WEFT_THEN                       \
    .balign 16 WEFT_THEN                  \
    .globl name WEFT_THEN                 \
    name:
#define WEFT_FUNCTION_END(name)
#endif
// clang-format on
