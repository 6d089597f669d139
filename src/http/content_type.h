// content_type.h: the media type of a file, from the extension of its name.
#pragma once

#include <string_view>

namespace weft::http::detail {

// application/octet-stream if the extension is not known. Ignores case.
[[nodiscard]] std::string_view content_type_of(std::string_view path) noexcept;

}  // namespace weft::http::detail
