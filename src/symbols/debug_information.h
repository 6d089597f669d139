// debug_information.h: the seam to a library that reads debug information: lines, inlined calls.
//
// The component weft::observe defines this function. Without it, reports have the names of the
// symbol table and no lines.
//
// Threads: the only thread of the process that symbol_service.h describes.
#pragma once

#include <cstdint>

namespace weft::detail {

// A frame at an address, innermost first: those before the last are inlined. function is the
// linker's name, or a plain one; file is nullptr if unknown.
using found_frame = void (*)(void* closure, const char* function, const char* file, unsigned line, bool inlined);

}  // namespace weft::detail

// Calls found for each frame at this address of the file at path. Returns false if it knows
// nothing of it.
extern "C" bool weft_find_in_debug_information(const char* path,
                                               uint64_t address,
                                               weft::detail::found_frame found,
                                               void* closure);
