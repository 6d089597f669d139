// symbols.h: names the code at an address, for backtraces.
//
// Uses only the dynamic linker, which knows the names that a module exports. Everything else is in
// the debug information; addr2line needs a module and an offset in it.
//
// Threads: any thread, also after a fault: allocates nothing.
#pragma once

#include <cstddef>

namespace weft::detail::os {

// The names belong to the module and live as long as it is loaded.
struct code_place {
    const char* module;    // file name without its folders
    std::size_t offset;    // of the address from the module's beginning
    const char* function;  // nullptr: no exported function is near
};

// Returns false if no module is loaded there.
[[nodiscard]] bool find_code(const void* pc, code_place& place) noexcept;

}  // namespace weft::detail::os
