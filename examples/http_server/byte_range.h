// byte_range.h: the header field Range: which part of a file is requested (RFC 9110, 14).
#pragma once

#include <cstdint>
#include <string_view>

namespace http_server {

struct byte_range {
    enum class kind {
        whole,          // no range, several, or one that is not understood; the answer is the whole file
        part,           // [first, first + size)
        unsatisfiable,  // it begins behind the end of the file
    };

    kind what = kind::whole;
    uint64_t first = 0;
    uint64_t size = 0;
};

// Parses the field for a file of file_size bytes: "bytes=0-99", "bytes=100-", or "bytes=-100" (the
// last hundred).
[[nodiscard]] byte_range parse_range(std::string_view field, uint64_t file_size);

}  // namespace http_server
