// cookie.cc: see weft/http/cookie.h.
#include <algorithm>
#include <stdexcept>

#include <weft/http/cookie.h>
#include <weft/http/request.h>
#include <weft/http/response.h>

#include "http/text.h"

namespace weft::http {

namespace {

// RFC 6265, 4.1.1: cookie-octet.
bool is_cookie_value(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return c > ' ' && c <= '~' && std::string_view("\",;\\").find(c) == std::string_view::npos;
    });
}

bool is_cookie_attribute(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != ';'; });
}

void check_cookie(const cookie& c) {
    const auto refuse = [&](const char* why) {
        throw std::invalid_argument("weft: cannot set the cookie \"" + std::string(c.name) + "\": " + why);
    };
    if (!detail::is_token(c.name)) refuse("its name must consist of letters, digits and hyphens");
    if (!is_cookie_value(c.value))
        refuse("its value has a character that cookies cannot have; encode it, for example as base64");
    if (!is_cookie_attribute(c.path) || !is_cookie_attribute(c.domain))
        refuse("its path or domain has a semicolon, or a character that is not ASCII");
    if (c.site == same_site::none && !c.secure) refuse("same_site::none needs secure");
    if (c.name.starts_with("__Host-") && (!c.secure || c.path != "/" || !c.domain.empty()))
        refuse("a name with __Host- needs secure, the path \"/\", and no domain");
    if (c.name.starts_with("__Secure-") && !c.secure) refuse("a name with __Secure- needs secure");
}

}  // namespace

response& response::set_cookie(const cookie& c) {
    check_cookie(c);
    std::string text(c.name);
    (text += '=') += c.value;
    if (!c.path.empty()) (text += "; Path=") += c.path;
    if (!c.domain.empty()) (text += "; Domain=") += c.domain;
    if (c.max_age) (text += "; Max-Age=") += std::to_string(std::max<int64_t>(c.max_age->count(), 0));
    if (c.secure) text += "; Secure";
    if (c.http_only) text += "; HttpOnly";
    text += c.site == same_site::strict ? "; SameSite=Strict"
            : c.site == same_site::lax  ? "; SameSite=Lax"
                                        : "; SameSite=None";
    return add("Set-Cookie", text);
}

std::optional<std::string_view> request::cookie(std::string_view name) const noexcept {
    for (const auto& [key, value] : headers()) {
        if (!detail::same_text(key, "Cookie")) continue;
        std::string_view rest = value;
        while (!rest.empty()) {
            const std::size_t end = rest.find(';');
            const std::string_view pair = detail::trimmed(rest.substr(0, end));
            rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
            const std::size_t equals = pair.find('=');
            if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
            std::string_view text = pair.substr(equals + 1);
            if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
            return text;
        }
    }
    return std::nullopt;
}

}  // namespace weft::http
