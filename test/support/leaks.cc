#include "leaks.h"

namespace {

bool leaks_on_purpose = false;

}  // namespace

// LeakSanitizer calls this before it checks.
extern "C" int __lsan_is_turned_off() { return leaks_on_purpose ? 1 : 0; }  // NOLINT: its name

namespace weft::test {

void leak_on_purpose() noexcept { leaks_on_purpose = true; }

}  // namespace weft::test
