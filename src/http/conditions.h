// conditions.h: conditional requests (RFC 9110, 13): whether the client knows the content that the
// server has.
//
// The fields are evaluated in the order of RFC 9110, 13.2.2. The first field of each pair hides the
// second one:
//
//   If-Match, If-Unmodified-Since    412 if the content is another one
//   If-None-Match, If-Modified-Since 304 if it is the same (412, unless the method is GET or HEAD)
//   If-Range                         the whole content, if it is another one
#pragma once

#include <ctime>
#include <optional>
#include <string_view>

#include <weft/http/request.h>

namespace weft::http::detail {

// What identifies the content.
struct validators {
    std::string_view tag = {};  // with its quotes; may be weak; empty: no tag
    std::optional<std::time_t> modified = {};
};

enum class verdict { send, not_modified, failed };

[[nodiscard]] verdict check_conditions(const request& r, const validators& v);

// Whether a range of the content is useful to the client: the rest that it has is of the same
// content.
[[nodiscard]] bool range_fits(const request& r, const validators& v);

}  // namespace weft::http::detail
