// unwinding.cc: see unwinding.h.
#include "unwinding.h"

#include <dlfcn.h>

#include <string_view>

namespace weft::test {

extern "C" int __unw_getcontext(void*) __attribute__((weak));  // NOLINT(bugprone-reserved-identifier): its name

bool is_llvm_unwinder() {
    if (&__unw_getcontext != nullptr) return true;
    // A shared library, which the linker need not look into.
    Dl_info found{};
    if (::dladdr(::dlsym(RTLD_DEFAULT, "_Unwind_Backtrace"), &found) == 0 || found.dli_fname == nullptr) return false;
    return std::string_view(found.dli_fname).find("libunwind") != std::string_view::npos;
}

}  // namespace weft::test
