#include "descriptor_of.h"

#include <stdio.h>  // NOLINT(modernize-deprecated-headers): POSIX's

namespace weft::test {

int descriptor_of(std::FILE* file) { return ::fileno(file); }

}  // namespace weft::test
