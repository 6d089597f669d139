// target.cc: see target.h.
#include "http/target.h"

#include <algorithm>
#include <cstddef>

#include "http/text.h"

namespace weft::http::detail {

namespace {

bool climbs(std::string_view path) noexcept {
    for (std::size_t at = path.find(".."); at != std::string_view::npos; at = path.find("..", at + 1)) {
        const bool begins = at == 0 || path[at - 1] == '/';
        const bool ends = at + 2 == path.size() || path[at + 2] == '/';
        if (begins && ends) return true;
    }
    return false;
}

}  // namespace

std::optional<split_target> split(std::string_view target) noexcept {
    const std::size_t question = target.find('?');
    split_target parts{target.substr(0, question), {}, {}};
    if (question != std::string_view::npos) parts.query = target.substr(question + 1);
    if (parts.path.starts_with('/') || target == "*") return parts;
    for (const std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
        if (parts.path.size() < scheme.size() || !same_text(parts.path.substr(0, scheme.size()), scheme)) continue;
        const std::size_t slash = parts.path.find('/', scheme.size());
        parts.authority = parts.path.substr(0, slash).substr(scheme.size());
        if (parts.authority.empty()) return std::nullopt;
        parts.path = slash == std::string_view::npos ? std::string_view("/") : parts.path.substr(slash);
        return parts;
    }
    return std::nullopt;
}

std::optional<std::string> decoded_path(std::string_view path) {
    std::optional<std::string> plain = percent_decoded(path, false);
    if (plain && (climbs(*plain) || plain->find('\0') != std::string::npos)) plain.reset();
    return plain;
}

std::optional<std::string> clean_path(std::string_view path) {
    constexpr std::string_view dot = "%2e";
    bool may_need_it = false;
    for (const std::string_view begin : {std::string_view("//"), std::string_view("/."), std::string_view("/%2")})
        may_need_it = may_need_it || path.find(begin) != std::string_view::npos;
    if (!may_need_it) return std::nullopt;
    std::string clean;
    for (std::size_t begin = 1; begin <= path.size();) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        const std::string_view segment = path.substr(begin, end - begin);
        if (!segment.empty() && segment != "." && !same_text(segment, dot)) {
            (clean += '/') += segment;
        } else if (end == path.size()) {
            clean += '/';
        }
        begin = end + 1;
    }
    if (clean == path) return std::nullopt;
    return clean;
}

}  // namespace weft::http::detail
