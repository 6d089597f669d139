// json.h: as much of JSON as the answers of JetStream need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::nats::detail {

// The text of the value of a key of the outermost object; nullopt if it is not there, or the text
// is no object. O(size of the text).
[[nodiscard]] std::optional<std::string_view> json_value(std::string_view object, std::string_view key);

// The same as an integer, or 0; and as text, or empty, if the value is of another type. Escapes
// other than \"
// and \\ stay as they are.
[[nodiscard]] int64_t json_integer(std::string_view object, std::string_view key);
[[nodiscard]] std::string json_text(std::string_view object, std::string_view key);

// The text as a JSON string, in quotes.
[[nodiscard]] std::string json_quoted(std::string_view text);

}  // namespace weft::nats::detail
