// urls.h: what a client does with URLs.
#pragma once

#include <string>
#include <string_view>

namespace weft::http::detail {

// Throws std::system_error with client_errc::bad_url unless it is an http or https URL.
void check_url(const std::string& url);

// Where a redirect with that field Location leads from a page. Throws as check_url().
[[nodiscard]] std::string redirect_target(const std::string& from, const std::string& location);

// Whether both have the same scheme, host and port: credentials for one may be sent to the other.
[[nodiscard]] bool same_origin(const std::string& a, const std::string& b);

// The URL without user and password, for messages.
[[nodiscard]] std::string without_password(const std::string& url);

}  // namespace weft::http::detail
