// target.h: the target of a request: its path and its query.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::http::detail {

struct split_target {
    std::string_view path;  // not decoded; begins with a slash, or is "*"
    std::string_view query;
    std::string_view authority;  // the host and the port; empty if the target has none
};

// Also accepts "http://example.com/path", which every server must. nullopt: neither a path nor "*".
[[nodiscard]] std::optional<split_target> split(std::string_view target) noexcept;

// The path, decoded. nullopt: malformed percent signs, a NUL, or a segment "..": clients resolve
// these before they send a request, so one that has them is a probe.
[[nodiscard]] std::optional<std::string> decoded_path(std::string_view path);

// The path without empty segments and segments "." (in whatever spelling), which mean nothing.
// nullopt: it has none. So a pattern sees one spelling of each path. path: begins with a slash; not
// decoded.
[[nodiscard]] std::optional<std::string> clean_path(std::string_view path);

}  // namespace weft::http::detail
