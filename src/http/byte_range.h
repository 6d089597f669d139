// byte_range.h: the field Range: which part of a file is requested (RFC 9110, 14).
//
// A request for several parts gets the whole file, as RFC 9110, 14.2, allows. Rejected: an answer
// of the type multipart/byteranges. Few clients ask for it. A short request for many parts that
// overlap would cost the server many times the file, and the kernel could not send the parts.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::http::detail {

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

}  // namespace weft::http::detail
