// original.h: the functions that weft::sim replaces, of the C library and the C++ library.
//
// Threads: any.
#pragma once

#include <dlfcn.h>

namespace weft::sim {

// The original of a function that this library defines; nullptr: the program has no shared
// libraries.
template <typename Function>
[[nodiscard]] Function* original(const char* name) noexcept {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace weft::sim
