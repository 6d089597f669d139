// symbols.h: what lies at an address of code, for backtraces.
//
// Only the dynamic linker is asked, which knows the names that a module exports. The full story is in the debug information;
// a module and an offset in it are what addr2line wants.
//
// Who: any thread, also after a fault: nothing is allocated.
#pragma once

#include <cstddef>

namespace weft::detail::os {

// The names belong to the module and live as long as it is loaded.
struct code_place {
    const char* module;    // file name without its folders
    std::size_t offset;    // of the address from where the module begins
    const char* function;  // nullptr: no exported function is near
};

// Returns false if no module is loaded there.
[[nodiscard]] bool find_code(const void* pc, code_place& place) noexcept;

}  // namespace weft::detail::os
