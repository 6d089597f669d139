// date.h: points in time as HTTP writes them, to the second: "Sun, 06 Nov 1994 08:49:37 GMT" (RFC
// 9110, 5.6.7). Names of days and months are English, whatever the locale of the program.
#pragma once

#include <array>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace weft::http::detail {

inline constexpr std::size_t date_size = 29;

[[nodiscard]] std::string http_date(std::time_t when);

// Also parses the two obsolete forms: "Sunday, 06-Nov-94 08:49:37 GMT" and
// "Sun Nov  6 08:49:37 1994". A year of two digits is the one at most 50 years after now. Returns
// nullopt for any other text.
[[nodiscard]] std::optional<std::time_t> parse_http_date(std::string_view text);

// The current time. Formats it only once in a second. Not for several threads at once.
class date_cache {
public:
    [[nodiscard]] std::string_view now();

private:
    std::time_t second_ = -1;
    std::array<char, date_size + 1> text_{};
};

}  // namespace weft::http::detail
