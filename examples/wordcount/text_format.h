// text_format.h: formats numbers and names for people, and for JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wordcount {

// Formats 1234567 as "1,234,567".
[[nodiscard]] std::string with_commas(std::uint64_t n);

// Formats bytes as "12.3 MB".
[[nodiscard]] std::string in_megabytes(std::uint64_t bytes);

// Formats value with this many decimals.
[[nodiscard]] std::string decimal(double value, int decimals);

// Formats bytes for a terminal: valid UTF-8 unchanged, control characters and other bytes as \xNN.
// Cut after `most` characters.
[[nodiscard]] std::string printable(std::string_view bytes, std::size_t most = 60);

// Formats bytes as a JSON string. Bytes that are not UTF-8 become \udcNN, like Python's
// "surrogateescape", so that nothing is lost.
[[nodiscard]] std::string json_string(std::string_view bytes);

}  // namespace wordcount
