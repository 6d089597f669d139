// status.h: names for status codes of HTTP. A status is a number, so `w.status(418)` works, too.
//
// See: docs/http.md
#pragma once

#include <string_view>

#include <weft/detail/require.h>

namespace weft::http {

/// The names of the codes that servers use most, as RFC 9110 has them.
namespace status {
inline constexpr unsigned ok = 200;
inline constexpr unsigned created = 201;
inline constexpr unsigned accepted = 202;
inline constexpr unsigned no_content = 204;
inline constexpr unsigned partial_content = 206;
inline constexpr unsigned moved_permanently = 301;
inline constexpr unsigned found = 302;
inline constexpr unsigned see_other = 303;
inline constexpr unsigned not_modified = 304;
inline constexpr unsigned temporary_redirect = 307;
inline constexpr unsigned permanent_redirect = 308;
inline constexpr unsigned bad_request = 400;
inline constexpr unsigned unauthorized = 401;
inline constexpr unsigned forbidden = 403;
inline constexpr unsigned not_found = 404;
inline constexpr unsigned method_not_allowed = 405;
inline constexpr unsigned request_timeout = 408;
inline constexpr unsigned conflict = 409;
inline constexpr unsigned gone = 410;
inline constexpr unsigned precondition_failed = 412;
inline constexpr unsigned content_too_large = 413;
inline constexpr unsigned unsupported_media_type = 415;
inline constexpr unsigned range_not_satisfiable = 416;
inline constexpr unsigned expectation_failed = 417;
inline constexpr unsigned unprocessable_content = 422;
inline constexpr unsigned too_many_requests = 429;
inline constexpr unsigned header_fields_too_large = 431;
inline constexpr unsigned internal_server_error = 500;
inline constexpr unsigned not_implemented = 501;
inline constexpr unsigned bad_gateway = 502;
inline constexpr unsigned service_unavailable = 503;
inline constexpr unsigned gateway_timeout = 504;
inline constexpr unsigned version_not_supported = 505;
}  // namespace status

/// "Not Found" for 404; empty for a code without a registered name.
[[nodiscard]] std::string_view reason_of(unsigned code) noexcept;

}  // namespace weft::http
