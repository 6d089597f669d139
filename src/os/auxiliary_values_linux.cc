// auxiliary_values_linux.cc: see auxiliary_values.h, and symbols.h.
#include <sys/auxv.h>

#include <cerrno>

#include "os/auxiliary_values.h"
#include "os/symbols.h"

namespace weft::detail::os {

program_headers find_program_headers() noexcept { return {getauxval(AT_PHDR), getauxval(AT_PHNUM)}; }

const char* program_name() noexcept { return program_invocation_name; }

bool has_extra_rights() noexcept { return getauxval(AT_SECURE) != 0; }

const char* program_file() noexcept { return "/proc/self/exe"; }

}  // namespace weft::detail::os
