// byte_range.h: the field Range: which part of a file is asked for (RFC 9110, 14).
#pragma once

#include <cstdint>
#include <string_view>

namespace http_server {

struct byte_range {
    enum class kind {
        whole,          // none, several, or one that is not understood: the whole file is the answer
        part,           // [first, first + size)
        unsatisfiable,  // it begins behind the end
    };

    kind what = kind::whole;
    uint64_t first = 0;
    uint64_t size = 0;
};

// Of a file of file_size bytes. "bytes=0-99", "bytes=100-" and "bytes=-100" (the last hundred).
[[nodiscard]] byte_range parse_range(std::string_view field, uint64_t file_size);

}  // namespace http_server
