// symbols.h: the module at an address, and the names that the dynamic linker knows.
//
// It knows only exported names. symbols/symbolizer.h finds the others, by the module's file.
//
// Threads: any thread, also after a fault: allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail::os {

// Whether find_code() names exported functions.
#if defined(_WIN32)
inline constexpr bool knows_names = false;
#else
inline constexpr bool knows_names = true;
#endif

// The names live as long as the module is loaded.
struct code_place {
    const char* path;      // the module's file; of the program, only a name
    const char* module;    // the same without folders
    std::size_t address;   // as the file's symbol table has it
    const char* function;  // nullptr: no exported function is near
    bool in_program;       // not in a library
};

// Returns false if no module is loaded there.
[[nodiscard]] bool find_code(const void* pc, code_place& place) noexcept;

// The file that this process executes; on Linux, under a name that also finds it after it was
// replaced.
[[nodiscard]] const char* program_file() noexcept;

// Whether this library's constructors run when that file is executed: the program contains the
// library, or is linked with it. If not, it was loaded later, by dlopen.
[[nodiscard]] bool runs_at_start() noexcept;

// Whether this process was started with more rights than its user has.
[[nodiscard]] bool has_extra_rights() noexcept;

}  // namespace weft::detail::os
