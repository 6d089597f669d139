#include <stdlib.h>

#include "program_name.h"

namespace weft::test {

const char* program_name() noexcept { return _pgmptr; }

}  // namespace weft::test
