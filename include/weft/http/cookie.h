// cookie.h: cookies that a server sets (RFC 6265). request::cookie() reads them.
//
//     w.set_cookie({.name = "session", .value = id, .max_age = 24h});
//
// See: docs/http_forms.md
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <weft/detail/require.h>

namespace weft::http {

/// When a browser sends a cookie with requests that pages of other sites cause.
enum class same_site : uint8_t {
    strict,  ///< never
    lax,     ///< if the user follows a link
    none,    ///< always; secure must be true
};

struct cookie {
    std::string_view name;
    std::string_view value = {};   ///< no whitespace, quotes, commas, semicolons, backslashes: encode them
    std::string_view path = "/";   ///< of the requests that get it; empty: the directory of this one
    std::string_view domain = {};  ///< empty: only this host
    bool secure = true;            ///< only over TLS, and to localhost
    bool http_only = true;         ///< not for scripts of the page
    same_site site = same_site::lax;

    /// How long it is kept; absent: until the browser ends. Zero or less: it is deleted.
    std::optional<std::chrono::seconds> max_age = {};
};

}  // namespace weft::http
