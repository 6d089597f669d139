// websocket_handshake.cc: see websocket_handshake.h.
#include "http/websocket_handshake.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <weft/http/error.h>
#include <weft/http/status.h>

#include "http/text.h"

namespace weft::http::detail {

namespace {

constexpr unsigned upgrade_required = 426;

// 16 bytes in base64.
bool is_websocket_key(std::string_view key) noexcept {
    constexpr std::size_t digits = 22;
    constexpr std::string_view padding = "==";
    constexpr std::string_view others = "+/";
    if (key.size() != digits + padding.size() || !key.ends_with(padding)) return false;
    return std::all_of(key.begin(), key.begin() + digits, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               others.find(c) != std::string_view::npos;
    });
}

// "http://example.com" without ":80", and "https://example.com" without ":443", as browsers write
// them.
std::string_view without_default_port(std::string_view authority, bool is_secure) noexcept {
    const std::string_view port = is_secure ? ":443" : ":80";
    return authority.ends_with(port) ? authority.substr(0, authority.size() - port.size()) : authority;
}

bool is_same_host(std::string_view origin, std::string_view host) noexcept {
    const std::size_t colon = origin.find("://");
    if (colon == std::string_view::npos) return false;  // also "null"
    const bool is_secure = same_text(origin.substr(0, colon), "https");
    return same_text(without_default_port(origin.substr(colon + 3), is_secure), without_default_port(host, is_secure));
}

bool is_allowed(const request& r, const websocket_options& how) {
    if (!r.headers().has("Origin")) return true;
    const std::string_view origin = r.header("Origin");
    if (how.allow_origin) return how.allow_origin(origin, r);
    return r.headers().count("Origin") == 1 && is_same_host(origin, r.host());
}

}  // namespace

void check_upgrade(const request& r, response& w, const websocket_options& how) {
    const headers& all = r.headers();
    const bool is_asked = r.method() == "GET" && r.version() >= 11 && all.has_token("Connection", "upgrade") &&
                          all.has_token("Upgrade", "websocket");
    if (!is_asked || r.header("Sec-WebSocket-Version") != "13") {
        w.set("Upgrade", "websocket").set("Sec-WebSocket-Version", "13");
        throw failure(upgrade_required, "connect with WebSocket, version 13");
    }
    if (all.count("Sec-WebSocket-Key") != 1 || !is_websocket_key(r.header("Sec-WebSocket-Key")))
        throw failure(status::bad_request, "Sec-WebSocket-Key must be 16 bytes in base64");
    if (r.content_length() != uint64_t{0}) throw failure(status::bad_request, "a WebSocket handshake has no body");
    if (!is_allowed(r, how)) throw failure(status::forbidden, "pages of that origin may not connect");
}

std::string choose_subprotocol(const request& r, const websocket_options& how) {
    for (const std::string& one : how.subprotocols) {
        for (const auto& [name, value] : r.headers()) {
            if (!same_text(name, "Sec-WebSocket-Protocol")) continue;
            std::string_view rest = value;
            while (!rest.empty()) {  // names of subprotocols have case
                const std::size_t comma = rest.find(',');
                if (trimmed(rest.substr(0, comma)) == one) return one;
                rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
            }
        }
    }
    return {};
}

}  // namespace weft::http::detail
