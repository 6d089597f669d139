// symbols_darwin.cc: see symbols.h.
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <stdlib.h>
#include <sys/param.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "os/symbols.h"

namespace weft::detail::os {

namespace {

const char* name_of(const char* path) noexcept {
    const char* slash = std::strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

// Image 0 is the program.
const void* program_header() noexcept { return _dyld_get_image_header(0); }

bool is_in_program(const void* pc) noexcept {
    Dl_info info{};
    return dladdr(pc, &info) != 0 && info.dli_fbase == program_header();
}

}  // namespace

bool find_code(const void* pc, code_place& place) noexcept {
    Dl_info info{};
    if (dladdr(pc, &info) == 0) return false;
    place.function = info.dli_sname;
    place.in_program = info.dli_fbase == program_header();
    place.path = place.in_program ? getprogname() : info.dli_fname;
    // Files have addresses from the preferred place on, which dyld says only of the shift.
    place.address = reinterpret_cast<uintptr_t>(pc) - reinterpret_cast<uintptr_t>(info.dli_fbase);
    place.module = name_of(place.path);
    return true;
}

bool runs_at_start() noexcept {
    static constinit int in_this_module = 0;
    return is_in_program(&in_this_module);
}

bool has_extra_rights() noexcept { return issetugid() != 0; }

// The name under which it was executed: a file that has replaced it is found instead.
const char* program_file() noexcept {
    static char path[MAXPATHLEN];
    static const bool known = [] {
        uint32_t size = sizeof(path);
        return _NSGetExecutablePath(path, &size) == 0;
    }();
    return known ? path : getprogname();
}

}  // namespace weft::detail::os
