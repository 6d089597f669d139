// text.h: the characters of HTTP: tokens, comparison without case, percent signs; kinds of fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::http::detail {

[[nodiscard]] bool same_text(std::string_view a, std::string_view b) noexcept;

// Whether it may be the name of a field or a method (RFC 9110, 5.6.2).
[[nodiscard]] bool is_token(std::string_view text) noexcept;

// Whether it may be the value of a field: no line break, and no NUL.
[[nodiscard]] bool is_value(std::string_view text) noexcept;

// Whether it has no control characters but tabs.
[[nodiscard]] bool is_printable(std::string_view text) noexcept;

// Whether it has only characters of a host with a port (RFC 3986, 3.2.2).
[[nodiscard]] bool is_host(std::string_view text) noexcept;

// Whether a field of that name is about a connection of HTTP/1.1, or frames the body (RFC 9113,
// 8.2.2).
[[nodiscard]] bool is_of_connection(std::string_view name) noexcept;

[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;

// Replaces %41 by A. nullopt: a percent sign is not followed by two hexadecimal digits.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);

}  // namespace weft::http::detail
