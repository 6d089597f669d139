// env.cc: numbers, times and words from environment variables. See docs/environment.md.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/assert.h"
#include "os/os.h"

namespace weft::detail::os {

namespace {

// Accepts a decimal number, optionally with k, M or G, and "i", "B" or "iB".
bool parse(const char* text, uint64_t& value) noexcept {
    if (std::isdigit(static_cast<unsigned char>(*text)) == 0) return false;
    char* end = nullptr;
    errno = 0;
    value = std::strtoull(text, &end, 10);
    if (errno != 0) return false;
    unsigned shift = 0;
    if (*end == 'k' || *end == 'K') shift = 10;
    if (*end == 'M') shift = 20;
    if (*end == 'G') shift = 30;
    if (shift != 0) {
        ++end;
        if (value > (UINT64_MAX >> shift)) return false;
        value <<= shift;
        if (*end == 'i') ++end;
        if (*end == 'B') ++end;
    }
    return *end == '\0';
}

struct time_unit {
    const char* name;
    int64_t ns;
};

constexpr time_unit time_units[] = {{"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}};

// An empty name means ms. Returns 0 for an unknown unit.
int64_t ns_of_unit(const char* name) noexcept {
    if (*name == '\0') return 1'000'000;
    for (const time_unit& unit : time_units) {
        if (std::strcmp(name, unit.name) == 0) return unit.ns;
    }
    return 0;
}

bool is_digit(char c) noexcept { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Truncates fractions of a nanosecond. Uses no floating point, so 0.1 is exact.
bool parse_time(const char* text, int64_t& value_ns) noexcept {
    if (!is_digit(*text)) return false;
    int64_t whole = 0;
    for (; is_digit(*text); ++text) {
        if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, *text - '0', &whole))
            return false;
    }
    const char* fraction = text;
    if (*text == '.') {
        if (!is_digit(*++text)) return false;
        fraction = text;
        while (is_digit(*text)) ++text;
    }
    const int64_t unit_ns = ns_of_unit(text);
    if (unit_ns == 0 || __builtin_mul_overflow(whole, unit_ns, &value_ns)) return false;
    for (int64_t place_ns = unit_ns / 10; fraction != text && place_ns != 0; ++fraction, place_ns /= 10) {
        if (__builtin_add_overflow(value_ns, (*fraction - '0') * place_ns, &value_ns)) return false;
    }
    return true;
}

// Uses the largest unit of which the time is a multiple.
struct time_text {
    explicit time_text(int64_t ns) noexcept {
        const time_unit* unit = time_units;
        while (ns % unit->ns != 0) ++unit;
        std::snprintf(text, sizeof(text), "%lld%s", static_cast<long long>(ns / unit->ns), unit->name);
    }

    char text[24];
};

}  // namespace

env_text read_env(const char* name) noexcept {
    const auto read = [](const char* n) noexcept -> const char* {
        const char* text =
            std::getenv(n);  // NOLINT(concurrency-mt-unsafe): read at start, before threads of ours exist
        return text != nullptr && *text != '\0' ? text : nullptr;
    };
    env_text found;
    WEFT_ASSERT(std::strlen(name) + 1 < sizeof(found.name));
    if (std::strncmp(name, "RUN_", 4) == 0) {
        std::snprintf(found.name, sizeof(found.name), "WEFT_%s", name + 4);
        found.text = read(found.name);
        if (found.text != nullptr) return found;
    }
    std::snprintf(found.name, sizeof(found.name), "%s", name);
    found.text = read(name);
    return found;
}

uint64_t env_number(const char* name, uint64_t low, uint64_t high, uint64_t default_value) noexcept {
    const env_text e = read_env(name);
    if (e.text == nullptr) return default_value;
    uint64_t value = 0;
    if (!parse(e.text, value) || value < low) {
        warn("%s=\"%s\" is not a number from %llu to %llu; using %llu", e.name, e.text,
             static_cast<unsigned long long>(low), static_cast<unsigned long long>(high),
             static_cast<unsigned long long>(default_value));
        return default_value;
    }
    if (value > high) {
        warn("%s=%s is more than %llu; using %llu", e.name, e.text, static_cast<unsigned long long>(high),
             static_cast<unsigned long long>(high));
        return high;
    }
    return value;
}

int64_t env_time_ns(const char* name, int64_t low_ns, int64_t high_ns, int64_t default_ns) noexcept {
    const env_text e = read_env(name);
    if (e.text == nullptr) return default_ns;
    int64_t value_ns = 0;
    if (!parse_time(e.text, value_ns) || value_ns < low_ns) {
        warn("%s=\"%s\" is not a time from %s to %s, in ms or with a unit (ns, us, ms, s); using %s", e.name, e.text,
             time_text(low_ns).text, time_text(high_ns).text, time_text(default_ns).text);
        return default_ns;
    }
    if (value_ns > high_ns) {
        warn("%s=%s is more than %s; using %s", e.name, e.text, time_text(high_ns).text, time_text(high_ns).text);
        return high_ns;
    }
    return value_ns;
}

unsigned env_word(const char* name, std::span<const char* const> words, unsigned default_index) noexcept {
    const env_text e = read_env(name);
    if (e.text == nullptr) return default_index;
    for (unsigned i = 0; i < words.size(); ++i) {
        if (std::strcmp(e.text, words[i]) == 0) return i;
    }
    char known[128];
    std::size_t length = 0;
    for (const char* word : words) {
        const int n = std::snprintf(known + length, sizeof(known) - length, length == 0 ? "%s" : ", %s", word);
        length = std::min(length + static_cast<std::size_t>(n), sizeof(known) - 1);
    }
    warn("%s=\"%s\" is not one of %s; using %s", e.name, e.text, known, words[default_index]);
    return default_index;
}

}  // namespace weft::detail::os
