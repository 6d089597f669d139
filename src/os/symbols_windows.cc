// symbols_windows.cc: see symbols.h. Exported names are not looked up here: programs export none.
#include <cstring>

#include "os/symbols.h"
#include "os/windows_api.h"

namespace weft::detail::os {

namespace {

constexpr DWORD path_max = 1024;

// nullptr: no module is there.
HMODULE module_at(const void* pc) noexcept {
    constexpr DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    HMODULE module = nullptr;
    if (pc == nullptr) return nullptr;  // for it the system names the program
    return GetModuleHandleExA(flags, static_cast<const char*>(pc), &module) != 0 ? module : nullptr;
}

const char* name_of(const char* path) noexcept {
    const char* slash = std::strrchr(path, '\\');
    return slash == nullptr ? path : slash + 1;
}

}  // namespace

// The address is relative to where the module begins.
bool find_code(const void* pc, code_place& place) noexcept {
    static thread_local char path[path_max];  // of the last module that a report has named
    HMODULE module = module_at(pc);
    if (module == nullptr) return false;
    place.in_program = module == GetModuleHandleA(nullptr);
    place.path = program_file();
    if (!place.in_program && GetModuleFileNameA(module, path, path_max) != 0) place.path = path;
    place.module = name_of(place.path);
    place.function = nullptr;
    place.address = reinterpret_cast<uintptr_t>(pc) - reinterpret_cast<uintptr_t>(module);
    return true;
}

const char* program_file() noexcept {
    static char path[path_max];
    static const bool known = GetModuleFileNameA(nullptr, path, path_max) != 0;
    return known ? path : "";
}

// Of a library it is not known whether the program was linked with it.
bool runs_at_start() noexcept {
    return module_at(reinterpret_cast<const void*>(&runs_at_start)) == GetModuleHandleA(nullptr);
}

bool has_extra_rights() noexcept { return false; }

}  // namespace weft::detail::os
