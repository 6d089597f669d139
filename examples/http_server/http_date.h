// http_date.h: points in time as HTTP writes them, to the second: "Sun, 06 Nov 1994 08:49:37 GMT"
// (RFC 9110, 5.6.7).
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace http_server {

[[nodiscard]] std::string http_date(std::time_t when);

// Also parses the two obsolete forms. Returns nullopt for any other text.
[[nodiscard]] std::optional<std::time_t> parse_http_date(std::string_view text);

// The form of access logs: "06/Nov/1994:08:49:37 +0000".
[[nodiscard]] std::string log_date(std::time_t when);

}  // namespace http_server
