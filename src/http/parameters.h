// parameters.h: values of fields with parameters: "form-data; name=\"a\"; filename=\"b.txt\"" (RFC
// 9110, 5.6.6).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::http::detail {

// What precedes the first semicolon.
[[nodiscard]] std::string_view main_value(std::string_view field) noexcept;

// The value of the first parameter of that name, without quotes; nullopt if it is missing, or what
// precedes it is malformed. A backslash is removed only before a quote or a backslash, because
// browsers sent the paths of Windows as they are.
[[nodiscard]] std::optional<std::string> parameter_of(std::string_view field, std::string_view name);

// Whether each value that begins with a quote ends with one.
[[nodiscard]] bool has_good_quotes(std::string_view field);

}  // namespace weft::http::detail
