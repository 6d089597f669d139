// scale.h: how large the tests' numbers are, and how long a wait may take before it is called a hang.
//
// A machine that is much slower than silicon (a sanitizer, an emulator) runs the same tests with smaller counts:
// WEFT_TEST_SCALE=20 divides them by 20. Without the variable the divisor is 1, or 10 in a sanitizer build.
#pragma once

#include <chrono>

namespace weft::test {

// The divisor, at least 1.
[[nodiscard]] int scale();

// count / scale(), at least 1.
[[nodiscard]] int scaled(int count);

// How long a wait that has to end may take before it is called a hang.
[[nodiscard]] std::chrono::seconds patience();

// The environment variable as a number above zero; fallback if it is not set or is no such number.
[[nodiscard]] unsigned long long number_from_environment(const char* variable, unsigned long long fallback);

}  // namespace weft::test
