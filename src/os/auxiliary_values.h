// auxiliary_values.h: what the system tells a program of an ELF file at its start: part of the
// porting contract, where programs are such files.
//
// Threads: any thread, also after a fault.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail::os {

// The headers of the program's segments; 0 if unknown.
struct program_headers {
    uintptr_t address;
    std::size_t count;
};

[[nodiscard]] program_headers find_program_headers() noexcept;

// As the program was called.
[[nodiscard]] const char* program_name() noexcept;

}  // namespace weft::detail::os
