// env.cc: numbers from environment variables, with one clear line when they are junk.
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

// A decimal number, optionally with a unit: k, M, G (powers of 1024), and an optional "iB" or "B" after it.
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

}  // namespace

bool env_is_set(const char* name) noexcept {
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): as below
    return text != nullptr && *text != '\0';
}

uint64_t env_number(const char* name, uint64_t low, uint64_t high, uint64_t default_value) noexcept {
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read at start, before threads of ours exist
    if (text == nullptr || *text == '\0') return default_value;
    uint64_t value = 0;
    if (!parse(text, value) || value < low) {
        warn("%s=\"%s\" is not a number from %llu to %llu; using %llu", name, text,
             static_cast<unsigned long long>(low), static_cast<unsigned long long>(high),
             static_cast<unsigned long long>(default_value));
        return default_value;
    }
    if (value > high) {
        warn("%s=%s is more than %llu; using %llu", name, text, static_cast<unsigned long long>(high),
             static_cast<unsigned long long>(high));
        return high;
    }
    return value;
}

unsigned env_word(const char* name, std::span<const char* const> words, unsigned default_index) noexcept {
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): as above
    if (text == nullptr || *text == '\0') return default_index;
    for (unsigned i = 0; i < words.size(); ++i) {
        if (std::strcmp(text, words[i]) == 0) return i;
    }
    char known[128];
    std::size_t length = 0;
    for (const char* word : words) {
        const int n = std::snprintf(known + length, sizeof(known) - length, length == 0 ? "%s" : ", %s", word);
        length = std::min(length + static_cast<std::size_t>(n), sizeof(known) - 1);
    }
    warn("%s=\"%s\" is none of %s; using %s", name, text, known, words[default_index]);
    return default_index;
}

}  // namespace weft::detail::os
