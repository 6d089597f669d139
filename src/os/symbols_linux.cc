// symbols_linux.cc: see symbols.h.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#include "os/symbols.h"

namespace weft::detail::os {

bool find_code(const void* pc, code_place& place) noexcept {
    Dl_info info{};
    if (dladdr(pc, &info) == 0) return false;
    const char* slash = std::strrchr(info.dli_fname, '/');
    place.module = slash == nullptr ? info.dli_fname : slash + 1;
    place.offset = reinterpret_cast<uintptr_t>(pc) - reinterpret_cast<uintptr_t>(info.dli_fbase);
    place.function = info.dli_sname;
    return true;
}

}  // namespace weft::detail::os
