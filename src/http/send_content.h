// send_content.h: answers a request with content that exists: evaluates its conditions, and chooses
// the part.
#pragma once

#include <cstdint>
#include <string_view>

#include <weft/fs.h>
#include <weft/http/request.h>
#include <weft/http/response.h>

#include "http/conditions.h"

namespace weft::http::detail {

struct content {
    fs::file* file = nullptr;  // nullptr: it is bytes
    std::string_view bytes = {};
    uint64_t size = 0;
    std::string_view type;  // unless the response has Content-Type
    validators known;
};

// Throws failure: 405, 412; and as response::send_file().
void send_content(const request& r, response& w, const content& c);

// Throws failure (405) unless the method is GET or HEAD.
void check_is_read(const request& r, response& w);

}  // namespace weft::http::detail
