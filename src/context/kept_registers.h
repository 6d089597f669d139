// kept_registers.h: for tests: whether a call preserves all callee-saved registers.
//
// weft_keep_registers() is assembly, one file per ABI, because no compiler would hold values in all
// of these registers across a call.
//
// Threads: tests, on any stack.
#pragma once

#include <cstdint>

extern "C" {

// Fills each callee-saved register with its own value, derived from seed, calls f(argument), and
// compares. Returns a bit per changed register, in the order of weft_kept_register_names.
uint64_t weft_keep_registers(uint64_t seed, void (*f)(void* argument), void* argument);

// Names of the bits, lowest first, separated by blanks.
extern const char* const weft_kept_register_names;
}
