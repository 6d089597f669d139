// change_environment.cc: see environment.h.
#include <stdlib.h>

#include "environment.h"

namespace weft::test {

void change_environment(const char* name, const char* value) {
    if (value != nullptr) {
        ::setenv(name, value, 1);  // NOLINT(concurrency-mt-unsafe): no other thread reads it
    } else {
        ::unsetenv(name);  // NOLINT(concurrency-mt-unsafe): as above
    }
}

}  // namespace weft::test
