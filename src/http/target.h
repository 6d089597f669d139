// target.h: the target of a request: its path and its query.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::http::detail {

struct split_target {
    std::string_view path;  // not decoded; begins with a slash, or is "*"
    std::string_view query;
};

// Also accepts "http://example.com/path", which every server must, and drops the host. nullopt:
// neither a path nor "*".
[[nodiscard]] std::optional<split_target> split(std::string_view target) noexcept;

// The path, decoded. nullopt: malformed percent signs, a NUL, or a segment "..": clients resolve
// these before they send a request, so one that has them is a probe.
[[nodiscard]] std::optional<std::string> decoded_path(std::string_view path);

}  // namespace weft::http::detail
