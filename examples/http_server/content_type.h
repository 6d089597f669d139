// content_type.h: what a file contains, by the end of its name.
#pragma once

#include <string_view>

namespace http_server {

[[nodiscard]] std::string_view content_type_of(std::string_view path) noexcept;

}  // namespace http_server
