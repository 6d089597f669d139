// stay_loaded_windows.cc: see stay_loaded.h.
#include "os/stay_loaded.h"
#include "os/windows_api.h"

namespace weft::detail::os {

void stay_loaded() noexcept {
    static constinit int in_this_module = 0;
    HMODULE module = nullptr;
    constexpr DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
    static_cast<void>(GetModuleHandleExA(flags, reinterpret_cast<const char*>(&in_this_module), &module));
}

}  // namespace weft::detail::os
