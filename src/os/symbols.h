// symbols.h: names the code at an address, for backtraces.
//
// The dynamic linker knows only exported names. addr2line finds others by module and offset.
//
// Threads: any thread, also after a fault: allocates nothing.
#pragma once

#include <cstddef>

namespace weft::detail::os {

// The names live as long as the module is loaded.
struct code_place {
    const char* module;    // file name without its folders
    std::size_t offset;    // in the module
    const char* function;  // nullptr: no exported function is near
};

// Returns false if no module is loaded there.
[[nodiscard]] bool find_code(const void* pc, code_place& place) noexcept;

}  // namespace weft::detail::os
