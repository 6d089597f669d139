// file_path.cc: see file_path.h.
#include "http/file_path.h"

#include <algorithm>
#include <cstddef>

#include <weft/http/error.h>
#include <weft/http/status.h>

namespace weft::http::detail {

namespace {

void check_segment(std::string_view segment, bool shows_hidden) {
    if (segment == "..") throw failure(status::bad_request, "the path must not contain \"..\"");
    if (segment.find('\0') != std::string_view::npos) throw failure(status::bad_request, "a name contains a NUL");
    if (shows_hidden) return;
    if (segment.front() == '.' && segment != ".well-known") throw failure(status::not_found, "there is no such file");
}

constexpr bool is_unreserved(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/-._~").find(c) != std::string_view::npos;
}

}  // namespace

file_path parse_file_path(std::string_view decoded, bool shows_hidden) {
    file_path path{"", true};
    for (std::size_t begin = 0; begin < decoded.size();) {
        const std::size_t end = std::min(decoded.find('/', begin), decoded.size());
        const std::string_view segment = decoded.substr(begin, end - begin);
        begin = end + 1;
        path.is_folder = segment.empty() || segment == "." || end != decoded.size();
        if (segment.empty() || segment == ".") continue;
        check_segment(segment, shows_hidden);
        if (!path.relative.empty()) path.relative += '/';
        path.relative += segment;
    }
    return path;
}

std::string target_of(const file_path& path) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string target = "/";
    for (const char c : path.relative) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_unreserved(c)) {
            target += c;
        } else {
            target += {'%', digits[byte / 16], digits[byte % 16]};
        }
    }
    if (path.is_folder && !path.relative.empty()) target += '/';
    return target;
}

}  // namespace weft::http::detail
