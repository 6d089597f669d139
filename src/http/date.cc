// date.cc: see date.h.
#include "http/date.h"

#include <algorithm>
#include <cstdio>

namespace weft::http::detail {

std::string_view date_cache::now() {
    static constexpr std::array<const char*, 7> days = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr std::array<const char*, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const std::time_t second = std::time(nullptr);
    if (second != second_) {
        second_ = second;
        std::tm parts{};
        gmtime_r(&second, &parts);
        std::array<char, 80> longest{};
        std::snprintf(longest.data(), longest.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                      days[static_cast<unsigned>(parts.tm_wday)], parts.tm_mday,
                      months[static_cast<unsigned>(parts.tm_mon)], parts.tm_year + 1900, parts.tm_hour, parts.tm_min,
                      parts.tm_sec);
        std::copy_n(longest.begin(), text_.size(), text_.begin());
    }
    return {text_.data(), date_size};
}

}  // namespace weft::http::detail
