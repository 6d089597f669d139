// stay_loaded_posix.cc: see stay_loaded.h.
#include <dlfcn.h>

#include "os/stay_loaded.h"

// A strong reference would link a dynamic linker into a static program, with a warning.
#pragma weak dlopen

namespace weft::detail::os {

void stay_loaded() noexcept {
    static constinit int in_this_module = 0;
    Dl_info info{};
    if (&dlopen == nullptr || dladdr(&in_this_module, &info) == 0) return;
    // Has no effect for the program itself. The handle is never closed.
    static_cast<void>(dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

}  // namespace weft::detail::os
