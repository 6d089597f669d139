// change_environment_windows.cc: see environment.h. An empty value unsets the variable.
#include <stdlib.h>

#include "environment.h"

namespace weft::test {

void change_environment(const char* name, const char* value) { ::_putenv_s(name, value != nullptr ? value : ""); }

}  // namespace weft::test
