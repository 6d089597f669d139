// debugger.h: what debuggers need in a program. Included by one source that is always linked.
//
// Debug information describes types and enumerators, but leaves out constants that no code uses.
// The section names the script, which gdb then loads: docs/debuggers.md.
//
// See: tools/gdb
#pragma once

#include "sched/g.h"

namespace weft::detail {

namespace {

// Bits of G::traits and G::special.
enum class debugger_bit : uint16_t {
    named = trait::named,
    labelled = trait::labelled,
    recorded = trait::recorded,
    high = special::high,
    low = special::low,
    pinned = special::pinned,
};
[[gnu::used]] constexpr auto keeps_debugger_bits = debugger_bit::named;  // without it the type is left out, too

}  // namespace

#if defined(WEFT_GDB_SCRIPT) && defined(__ELF__)
// A 1 announces the name of a Python file. The section is debug information: not loaded, and
// stripped with it.
asm(".pushsection \".debug_gdb_scripts\", \"MS\",%progbits,1\n"
    ".byte 1\n"
    ".asciz \"" WEFT_GDB_SCRIPT
    "\"\n"
    ".popsection\n");
#endif

}  // namespace weft::detail
