// stay_loaded_linux.cc: see stay_loaded.h.
#include <dlfcn.h>

#include "os/stay_loaded.h"

// A static program has no dynamic linker. A strong reference would bring one in, and a warning of the linker.
#pragma weak dlopen

namespace weft::detail::os {

void stay_loaded() noexcept {
    static constinit int in_this_module = 0;
    Dl_info info{};
    if (&dlopen == nullptr || dladdr(&in_this_module, &info) == 0) return;
    // The program itself is not found by the name that it was called by, or it is and stays anyway. The handle is never closed.
    static_cast<void>(dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

}  // namespace weft::detail::os
