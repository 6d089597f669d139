#include "text_format.h"

#include <array>
#include <cstddef>
#include <cstdio>

namespace wordcount {

namespace {

using byte = unsigned char;

// The length of the UTF-8 sequence at the start of text, which is not empty: 1 to 4, or 0 if it is
// not valid UTF-8 (RFC 3629).
std::size_t sequence_size(std::string_view text) noexcept {
    const auto at = [text](std::size_t i) { return i < text.size() ? static_cast<byte>(text[i]) : byte{0}; };
    const auto continues = [&at](std::size_t i) { return (at(i) & 0xc0U) == 0x80U; };
    const byte first = at(0);
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        const bool too_long = first == 0xe0 && at(1) < 0xa0;
        const bool surrogate = first == 0xed && at(1) > 0x9f;
        return continues(1) && continues(2) && !too_long && !surrogate ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const bool too_long = first == 0xf0 && at(1) < 0x90;
        const bool too_large = first == 0xf4 && at(1) > 0x8f;
        return continues(1) && continues(2) && continues(3) && !too_long && !too_large ? 4 : 0;
    }
    return 0;
}

// Whether a valid sequence is a control character: C0, DEL or C1.
bool is_control(std::string_view sequence) noexcept {
    const byte first = static_cast<byte>(sequence[0]);
    return first < 0x20 || first == 0x7f || (first == 0xc2 && static_cast<byte>(sequence[1]) < 0xa0);
}

std::string formatted(const char* format, unsigned n) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), format, n);  // NOLINT: the formats are literals below
    return text.data();
}

}  // namespace

std::string with_commas(std::uint64_t n) {
    std::string digits = std::to_string(n);
    for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
    return digits;
}

std::string decimal(double value, int decimals) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
    return text.data();
}

std::string in_megabytes(std::uint64_t bytes) { return decimal(static_cast<double>(bytes) / 1e6, 1) + " MB"; }

std::string printable(std::string_view bytes, std::size_t most) {
    std::string text;
    for (std::size_t shown = 0; !bytes.empty(); ++shown) {
        if (shown == most) return text + "…";
        const std::size_t size = sequence_size(bytes);
        if (size != 0 && !is_control(bytes)) {
            text += bytes.substr(0, size);
        } else {
            for (const char c : bytes.substr(0, size == 0 ? 1 : size))
                text += formatted("\\x%02x", static_cast<byte>(c));
        }
        bytes.remove_prefix(size == 0 ? 1 : size);
    }
    return text;
}

std::string json_string(std::string_view bytes) {
    std::string text = "\"";
    while (!bytes.empty()) {
        const std::size_t size = sequence_size(bytes);
        const byte first = static_cast<byte>(bytes[0]);
        if (size == 0) {
            text += formatted("\\u%04x", 0xdc00U + first);
        } else if (first < 0x20) {
            text += formatted("\\u%04x", first);
        } else {
            if (first == '"' || first == '\\') text += '\\';
            text += bytes.substr(0, size);
        }
        bytes.remove_prefix(size == 0 ? 1 : size);
    }
    return text + '"';
}

}  // namespace wordcount
