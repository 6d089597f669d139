// kept_registers.h: for tests: whether a call preserves all callee-saved registers.
//
// Assembly, one file per ABI: no compiler would hold values in all these registers across a call.
#pragma once

#include <cstdint>

extern "C" {

// Fills each callee-saved register with its own value, calls f(argument), and compares. Returns a
// bit per changed register, in the order of weft_kept_register_names.
uint64_t weft_keep_registers(uint64_t seed, void (*f)(void* argument), void* argument);

// Lowest bit first, separated by blanks.
extern const char* const weft_kept_register_names;
}
