// descriptor_of_windows.cc: see descriptor_of.h.
#include <io.h>

#include "descriptor_of.h"

namespace weft::test {

int descriptor_of(std::FILE* file) { return static_cast<int>(_get_osfhandle(_fileno(file))); }

}  // namespace weft::test
