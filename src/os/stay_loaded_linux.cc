// stay_loaded_linux.cc: see stay_loaded.h.
#include <dlfcn.h>

#include "os/stay_loaded.h"

// A static program has no dynamic linker. A strong reference would link one in, with a linker
// warning.
#pragma weak dlopen

namespace weft::detail::os {

void stay_loaded() noexcept {
    static constinit int in_this_module = 0;
    Dl_info info{};
    if (&dlopen == nullptr || dladdr(&in_this_module, &info) == 0) return;
    // The program itself is not found by its name, or it is found and stays anyway. The handle is
    // never closed.
    static_cast<void>(dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

}  // namespace weft::detail::os
