// auxiliary_values_freebsd.cc: see auxiliary_values.h, and symbols.h.
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/param.h>
#include <sys/types.h>
#include <unistd.h>

#include "os/auxiliary_values.h"
#include "os/symbols.h"

namespace weft::detail::os {

program_headers find_program_headers() noexcept {
    void* address = nullptr;
    int count = 0;
    if (elf_aux_info(AT_PHDR, &address, sizeof(address)) != 0) return {0, 0};
    if (elf_aux_info(AT_PHNUM, &count, sizeof(count)) != 0) return {0, 0};
    return {reinterpret_cast<uintptr_t>(address), static_cast<std::size_t>(count)};
}

const char* program_name() noexcept { return getprogname(); }

bool has_extra_rights() noexcept { return issetugid() != 0; }

// The name under which it was executed: a file that has replaced it is found instead.
const char* program_file() noexcept {
    static char path[MAXPATHLEN];
    static const bool known = elf_aux_info(AT_EXECPATH, path, sizeof(path)) == 0;
    return known ? path : program_name();
}

}  // namespace weft::detail::os
