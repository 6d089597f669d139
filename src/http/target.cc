// target.cc: see target.h.
#include "http/target.h"

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
    split_target parts{target.substr(0, question), {}};
    if (question != std::string_view::npos) parts.query = target.substr(question + 1);
    if (parts.path.starts_with('/') || target == "*") return parts;
    for (const std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
        if (parts.path.size() < scheme.size() || !same_text(parts.path.substr(0, scheme.size()), scheme)) continue;
        const std::size_t slash = parts.path.find('/', scheme.size());
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

}  // namespace weft::http::detail
