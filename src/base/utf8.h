// utf8.h: where characters of UTF-8 begin and end.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <string_view>

namespace weft::detail {

// Bytes of the character at the start of text, which is not empty; 0: none begins there.
[[nodiscard]] inline std::size_t utf8_size(std::string_view text) noexcept {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t size = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
    if (size > text.size()) return 0;
    for (std::size_t i = 1; i < size; ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
    }
    // Longer forms than needed, surrogates, and what lies above U+10FFFF.
    const auto second = static_cast<unsigned char>(size > 2 ? text[1] : '\0');
    const bool is_wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                          (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return is_wrong ? 0 : size;
}

}  // namespace weft::detail
