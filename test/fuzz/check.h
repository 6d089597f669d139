// check.h: how a fuzz target reports a property that does not hold, and how it reads its input.
//
// A target is a file x_fuzz.cc with the function LLVMFuzzerTestOneInput. libFuzzer calls it, or
// plain_main.cc without libFuzzer. It ends the process at the first property that does not hold.
// The caller keeps the input.
//
// See: docs/fuzzing.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

// Tests one input. data may be null only if size is 0. Always returns 0.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size);

namespace fuzz {

[[nodiscard]] inline std::string_view text_of(const uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

// The text on one line, whatever is in it.
[[nodiscard]] inline std::string shown(std::string_view text) {
    constexpr std::size_t most = 2000;
    std::string line;
    for (const char c : text.substr(0, most)) {
        char escaped[5] = {c};
        if (c < ' ' || c > '~' || c == '\\')
            std::snprintf(escaped, sizeof(escaped), "\\x%02x", static_cast<unsigned char>(c));
        line += escaped;
    }
    return text.size() > most ? line + "…" : line;
}

// property: what should hold, in words. about: the input it should hold for.
inline void check(bool holds, const char* property, std::string_view about) {
    if (holds) return;
    std::fprintf(stderr, "fuzz: it does not hold that %s: \"%s\"\n", property, shown(about).c_str());
    std::abort();
}

}  // namespace fuzz
