#include "scale.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "build.h"

namespace weft::test {

unsigned long long number_from_environment(const char* variable, unsigned long long fallback) {
    const char* text = std::getenv(variable);
    if (text == nullptr) return fallback;
    const char* end = text + std::strlen(text);
    unsigned long long number = 0;
    const auto [stop, error] = std::from_chars(text, end, number);
    return error == std::errc() && stop == end && number > 0 ? number : fallback;
}

int scale() {
    static const int divisor = static_cast<int>(
        std::min(number_from_environment("WEFT_TEST_SCALE", built_with_sanitizer ? 10 : 1), 1'000'000ULL));
    return divisor;
}

int scaled(int count) { return std::max(count / scale(), 1); }

std::chrono::seconds patience() { return std::chrono::seconds(75); }

}  // namespace weft::test
