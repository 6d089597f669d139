#include "request_path.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <weft/http/error.h>
#include <weft/http/status.h>

namespace http_server {

namespace http = weft::http;

namespace {

std::optional<int> hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return std::nullopt;
}

std::string decoded(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            plain += text[i];
            continue;
        }
        const auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
        const auto low = high ? hex_digit(text[i + 2]) : std::nullopt;
        if (!low)
            throw http::failure(http::status::bad_request, "a percent sign must be followed by two hexadecimal digits");
        plain += static_cast<char>(*high * 16 + *low);
        i += 2;
    }
    return plain;
}

// Returns only the path of "http://example.com/path". Clients send this form to proxies, and every
// server must accept it.
std::string_view without_host(std::string_view target) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (!target.starts_with(scheme)) continue;
        const std::size_t slash = target.find('/', scheme.size());
        return slash == std::string_view::npos ? "/" : target.substr(slash);
    }
    return target;
}

void check_segment(std::string_view segment) {
    if (segment == "..") throw http::failure(http::status::bad_request, "the path must not contain \"..\"");
    if (segment.find('\0') != std::string_view::npos)
        throw http::failure(http::status::bad_request, "a name contains a NUL");
    if (segment.front() == '.' && segment != ".well-known")
        throw http::failure(http::status::not_found, "there is no such file");
}

}  // namespace

request_path parse_target(std::string_view target) {
    target = without_host(target.substr(0, target.find('?')));
    if (!target.starts_with('/')) throw http::failure(http::status::bad_request, "the target must begin with a slash");
    const std::string plain = decoded(target);
    request_path path{"", true};
    for (std::size_t begin = 0; begin < plain.size();) {
        const std::size_t end = std::min(plain.find('/', begin), plain.size());
        const std::string_view segment = std::string_view(plain).substr(begin, end - begin);
        begin = end + 1;
        path.is_folder = segment.empty() || segment == "." || end != plain.size();
        if (segment.empty() || segment == ".") continue;
        check_segment(segment);
        if (!path.relative.empty()) path.relative += '/';
        path.relative += segment;
    }
    return path;
}

std::string target_of(const request_path& path) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string target = "/";
    for (const char c : path.relative) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0 || std::string_view("/-._~").find(c) != std::string_view::npos) {
            target += c;
        } else {
            target += {'%', digits[byte / 16], digits[byte % 16]};
        }
    }
    if (path.is_folder && !path.relative.empty()) target += '/';
    return target;
}

}  // namespace http_server
