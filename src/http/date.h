// date.h: the current time as HTTP writes it, to the second: "Sun, 06 Nov 1994 08:49:37 GMT" (RFC
// 9110, 5.6.7).
#pragma once

#include <array>
#include <ctime>
#include <string_view>

namespace weft::http::detail {

inline constexpr std::size_t date_size = 29;

// Formats the time only once in a second. Not for several threads at once.
class date_cache {
public:
    [[nodiscard]] std::string_view now();

private:
    std::time_t second_ = -1;
    std::array<char, date_size + 1> text_{};
};

}  // namespace weft::http::detail
