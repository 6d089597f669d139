#include "program_name.h"

#include <errno.h>

namespace weft::test {

const char* program_name() noexcept { return program_invocation_name; }

}  // namespace weft::test
