// status_line.h: the first line of a reply: "HTTP/1.1 200 OK", "HTTP/2 404".
#pragma once

#include <string_view>

namespace weft::http::detail {

struct status_line {
    unsigned version = 0;  // 10, 11, 20
    unsigned status = 0;   // 0: malformed
};

[[nodiscard]] status_line parsed_status_line(std::string_view line) noexcept;

}  // namespace weft::http::detail
