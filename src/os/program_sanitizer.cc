// program_sanitizer.cc: where a library cannot refer to a function that may be missing.
#include "os/program_sanitizer.h"

namespace weft::detail::os {

program_sanitizer find_program_sanitizer() noexcept { return {nullptr, nullptr}; }

}  // namespace weft::detail::os
