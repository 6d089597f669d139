// status_line.cc: see status_line.h.
#include "http_client/status_line.h"

#include <charconv>

namespace weft::http::detail {

status_line parsed_status_line(std::string_view line) noexcept {
    status_line found;
    if (!line.starts_with("HTTP/")) return found;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return found;
    const std::string_view version = line.substr(5, space - 5);
    found.version = version == "1.0" ? 10 : version == "2" ? 20 : version == "3" ? 30 : 11;
    const char* begin = line.data() + space + 1;
    std::from_chars(begin, line.data() + line.size(), found.status);
    return found;
}

}  // namespace weft::http::detail
