// multipart_parser.h: takes a multipart body apart (RFC 2046, 5.1.1), as its bytes come.
//
// A delimiter is CR LF, two hyphens and the boundary. Parts are what is between two of them. The
// first delimiter has no CR LF if it begins the body, so the parser begins as if there was one.
//
// Invariants: I1. The first known_ bytes of the buffer are content of the part.
//             I2. If is_at_delimiter_, a delimiter follows these. It is the first one.
//             I3. The buffer has at most header_max and a piece of bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <weft/http/headers.h>
#include <weft/net/buffer.h>

namespace weft::http::detail {

class multipart_source {
public:
    multipart_source() = default;
    multipart_source(const multipart_source&) = delete;
    multipart_source& operator=(const multipart_source&) = delete;

    // Returns 0 at the end.
    [[nodiscard]] virtual std::size_t read(net::mutable_buffer into) = 0;

protected:
    ~multipart_source() = default;
};

class multipart_parser {
public:
    // from must outlive it.
    multipart_parser(multipart_source& from, std::string_view boundary, std::size_t header_max);

    // Goes to the next part, and reads its header. Returns false after the last one. Throws failure
    // (400).
    [[nodiscard]] bool next();

    [[nodiscard]] const headers& fields() const noexcept { return fields_; }

    // Reads content of the part; 0 at its end. Throws failure (400).
    [[nodiscard]] std::size_t read_some(net::mutable_buffer into);

private:
    [[nodiscard]] std::string_view text() const noexcept { return std::string_view(buffer_).substr(begin_); }

    void consume(std::size_t bytes) noexcept { begin_ += bytes; }

    void fill();
    void need(std::size_t bytes);
    void find_content();
    void read_header();
    void add_field(std::string_view line);

    multipart_source& from_;
    const std::string delimiter_;
    const std::size_t header_max_;
    std::string buffer_ = "\r\n";
    std::size_t begin_ = 0;
    std::size_t known_ = 0;
    bool is_at_delimiter_ = false;
    bool has_ended_ = false;
    headers fields_;
};

// Whether it may be a boundary: 1 to 70 characters (RFC 2046, 5.1.1).
[[nodiscard]] bool is_boundary(std::string_view text) noexcept;

}  // namespace weft::http::detail
