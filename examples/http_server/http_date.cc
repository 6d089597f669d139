#include "http_date.h"

#include <time.h>

#include <array>

namespace http_server {

namespace {

// The program keeps the locale "C", so names of days and months are English.
std::string formatted(const char* format, std::time_t when) {
    std::tm parts{};
    std::array<char, 64> text{};
    gmtime_r(&when, &parts);
    return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::string http_date(std::time_t when) { return formatted("%a, %d %b %Y %H:%M:%S GMT", when); }

std::string log_date(std::time_t when) { return formatted("%d/%b/%Y:%H:%M:%S +0000", when); }

std::optional<std::time_t> parse_http_date(std::string_view text) {
    const std::string terminated(text);
    for (const char* format : {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"}) {
        std::tm parts{};
        const char* const end = strptime(terminated.c_str(), format, &parts);
        if (end != nullptr && *end == '\0') return timegm(&parts);
    }
    return std::nullopt;
}

}  // namespace http_server
