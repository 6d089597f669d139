// kept_registers.h: for tests: whether a call keeps every register that the ABI says a callee must preserve.
//
// keep_registers() is written in assembly, one file per ABI: no compiler would put a value into all of these registers and leave
// it there across a call.
//
// Who: tests, on any stack.
#pragma once

#include <cstdint>

extern "C" {

// Fills each callee-saved register with a value of its own, derived from seed, calls f(argument), and compares. Returns a bit for each
// register that has changed, in the order of weft_kept_register_names; 0 if all were kept.
uint64_t weft_keep_registers(uint64_t seed, void (*f)(void* argument), void* argument);

// What the bits mean, lowest first, separated by blanks.
extern const char* const weft_kept_register_names;
}
