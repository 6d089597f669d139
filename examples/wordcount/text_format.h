// text_format.h: numbers and names as a person reads them, and as JSON has them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wordcount {

// 1234567 as "1,234,567".
[[nodiscard]] std::string with_commas(std::uint64_t n);

// Bytes as "12.3 MB".
[[nodiscard]] std::string in_megabytes(std::uint64_t bytes);

// With so many decimals.
[[nodiscard]] std::string decimal(double value, int decimals);

// bytes for a terminal: valid UTF-8 as it is; control characters and other bytes as \xNN; cut after most characters.
[[nodiscard]] std::string printable(std::string_view bytes, std::size_t most = 60);

// bytes as a JSON string. Bytes that are not UTF-8 become \udcNN, as Python's "surrogateescape" has it, so that
// nothing is lost.
[[nodiscard]] std::string json_string(std::string_view bytes);

}  // namespace wordcount
