// accept.h: the field Accept-Encoding (RFC 9110, 12.5.3).
#pragma once

#include <string_view>

#include <weft/http/headers.h>

namespace weft::http::detail {

// Whether the client accepts that coding: it names it, or "*", with a weight above 0.
[[nodiscard]] bool accepts_coding(const headers& of_request, std::string_view coding) noexcept;

// Adds a name to the field Vary, unless it is there.
void add_to_vary(headers& of_response, std::string_view name);

}  // namespace weft::http::detail
