// parser.h: parses one request, by Boost.Beast.
//
// Beast's grammar, with the limits of this server. Beast compares its limit of a header only with
// what it has not parsed yet; this counts all of it, also of trailers. The body goes straight to
// where the handler wants it: room() says where, and the parser stops when it is full.
//
// What Beast refuses: a header line that ends with a bare LF, whitespace before the colon, control
// characters in a header, a malformed or repeated Content-Length with different values,
// Transfer-Encoding with Content-Length, sizes of chunks that are no hexadecimal number. It joins
// folded lines by a space (RFC 9112, 5.2). check_header() refuses what Beast accepts, but another
// server could understand as a different request. So does on_chunk_header_impl(): Beast accepts
// control characters, also line breaks, in the quoted extension of a chunk.
#pragma once

// Boost 1.81 uses std::aligned_storage, which C++23 deprecates.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
#endif
#include <boost/beast/core/detail/type_traits.hpp>
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#include <boost/beast/http/basic_parser.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <weft/http/request.h>
#include <weft/net/buffer.h>

namespace weft::http::detail {

// Why a request is refused, before a handler sees it.
struct refusal {
    unsigned status;
    std::string why;  // one sentence, for the client
};

class request_parser final : public boost::beast::http::basic_parser<true> {
public:
    using error_code = boost::system::error_code;
    using string_view = boost::beast::string_view;

    request_parser(request_parts& into, std::size_t header_max, uint64_t body_max);

    // Where the next part of the body goes. Returns how much of it was filled since the last call.
    void set_room(net::mutable_buffer room) noexcept;

    [[nodiscard]] std::size_t filled() const noexcept { return filled_; }

    void set_body_max(uint64_t bytes) noexcept { body_max_ = bytes; }

    [[nodiscard]] uint64_t body_max() const noexcept { return body_max_; }

private:
    void on_request_impl(
        boost::beast::http::verb verb, string_view method, string_view target, int version, error_code& ec) override;
    void on_response_impl(int status, string_view reason, int version, error_code& ec) override;
    void on_field_impl(boost::beast::http::field id, string_view name, string_view value, error_code& ec) override;
    void on_header_impl(error_code& ec) override;
    void on_body_init_impl(const boost::optional<std::uint64_t>& size, error_code& ec) override;
    std::size_t on_body_impl(string_view body, error_code& ec) override;
    void on_chunk_header_impl(std::uint64_t size, string_view extensions, error_code& ec) override;
    std::size_t on_chunk_body_impl(std::uint64_t rest, string_view body, error_code& ec) override;
    void on_finish_impl(error_code& ec) override;

    void count(std::size_t bytes, error_code& ec);

    request_parts& into_;
    const std::size_t header_max_;
    uint64_t body_max_;
    uint64_t body_announced_ = 0;  // by the chunks so far
    std::size_t header_bytes_ = 0;
    net::mutable_buffer room_{nullptr, 0};
    std::size_t filled_ = 0;
    bool is_header_read_ = false;
};

// The refusal for an error of the parser in a header. first_line: as far as it was read.
[[nodiscard]] refusal refusal_of(const boost::system::error_code& ec, std::string_view first_line);

// Refuses what the parser accepts, but another server could understand as a different request (RFC
// 9112, 3.2 and 6.1).
[[nodiscard]] std::optional<refusal> check_header(const request_parts& r, bool chunked);

}  // namespace weft::http::detail
