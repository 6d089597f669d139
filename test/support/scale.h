// scale.h: the size of test counts, and the time after which a wait counts as a hang.
//
// Slow targets (a sanitizer, an emulator) run with smaller counts. WEFT_TEST_SCALE=20 divides them
// by 20; the default is 1, or 10 in a sanitizer build.
#pragma once

#include <chrono>

namespace weft::test {

// The divisor, at least 1.
[[nodiscard]] int scale();

// count / scale(), at least 1.
[[nodiscard]] int scaled(int count);

// The time after which a wait counts as a hang.
[[nodiscard]] std::chrono::seconds patience();

// The environment variable as a number above zero, or fallback.
[[nodiscard]] unsigned long long number_from_environment(const char* variable, unsigned long long fallback);

}  // namespace weft::test
