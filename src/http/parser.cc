// parser.cc: see parser.h.
#include "http/parser.h"

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <boost/none.hpp>
#include <cstring>
#include <limits>

#include <weft/http/status.h>

#include "http/text.h"

namespace weft::http::detail {

using error = boost::beast::http::error;

namespace {

constexpr std::size_t field_overhead = 4;  // the colon, a space, and the end of the line

std::string_view view_of(boost::beast::string_view text) noexcept { return {text.data(), text.size()}; }

// Whether the line names another version, like "GET / HTTP/2.0". A supported version can cause the
// error, too, if it is not followed by the end of a line.
bool names_other_version(std::string_view first_line) {
    constexpr std::size_t size = std::string_view(" HTTP/1.1").size();
    const std::string_view end = first_line.substr(first_line.size() - std::min(first_line.size(), size));
    constexpr std::string_view begin = " HTTP/";
    return end.starts_with(begin) && end.find_first_not_of("0123456789.", begin.size()) == std::string_view::npos &&
           end != " HTTP/1.1" && end != " HTTP/1.0";
}

}  // namespace

request_parser::request_parser(request_parts& into, std::size_t header_max, uint64_t body_max)
    : into_(into), header_max_(header_max), body_max_(body_max) {
    header_limit(static_cast<uint32_t>(std::min<std::size_t>(header_max, std::numeric_limits<uint32_t>::max())));
    body_limit(boost::none);  // on_chunk_header_impl, and the connection
    eager(false);             // after the header it stops
}

void request_parser::set_room(net::mutable_buffer room) noexcept {
    room_ = room;
    filled_ = 0;
}

void request_parser::count(std::size_t bytes, error_code& ec) {
    header_bytes_ += bytes;
    if (header_bytes_ > header_max_) ec = error::header_limit;
}

void request_parser::on_request_impl(
    boost::beast::http::verb /*verb*/, string_view method, string_view target, int version, error_code& ec) {
    into_.method = view_of(method);
    into_.target = view_of(target);
    into_.version = static_cast<unsigned>(version);
    count(method.size() + target.size() + std::string_view("  HTTP/1.1\r\n\r\n").size(), ec);
}

void request_parser::on_response_impl(int /*status*/, string_view /*reason*/, int /*version*/, error_code& /*ec*/) {}

void request_parser::on_field_impl(boost::beast::http::field /*id*/,
                                   string_view name,
                                   string_view value,
                                   error_code& ec) {
    count(name.size() + value.size() + field_overhead, ec);
    if (!ec) (is_header_read_ ? into_.trailers : into_.fields).append(view_of(name), view_of(value));
}

void request_parser::on_header_impl(error_code& /*ec*/) {
    is_header_read_ = true;
    header_bytes_ = 0;  // trailers have the same limit again
}

void request_parser::on_body_init_impl(const boost::optional<std::uint64_t>& /*size*/, error_code& /*ec*/) {}

std::size_t request_parser::on_body_impl(string_view body, error_code& /*ec*/) {
    const std::size_t n = std::min(body.size(), room_.size() - filled_);
    char* const to = static_cast<char*>(room_.data()) + filled_;
    if (n != 0 && to != body.data()) std::memcpy(to, body.data(), n);  // or it was read to there
    filled_ += n;
    return n;
}

// Extensions that are longer than their chunks count as trailers do: otherwise a small body could
// take any number of bytes.
void request_parser::on_chunk_header_impl(std::uint64_t size, string_view extensions, error_code& ec) {
    if (!is_printable(view_of(extensions))) {
        ec = error::bad_chunk_extension;
        return;
    }
    count(extensions.size() - static_cast<std::size_t>(std::min<uint64_t>(extensions.size(), size)), ec);
    if (ec) return;
    if (size > body_max_ - std::min(body_announced_, body_max_)) {
        ec = error::body_limit;
        return;
    }
    body_announced_ += size;
}

std::size_t request_parser::on_chunk_body_impl(std::uint64_t /*rest*/, string_view body, error_code& ec) {
    return on_body_impl(body, ec);
}

void request_parser::on_finish_impl(error_code& /*ec*/) {}

refusal refusal_of(const boost::system::error_code& ec, std::string_view first_line) {
    if (ec == error::header_limit || ec == error::buffer_overflow)
        return {status::header_fields_too_large, "the header is too large"};
    if (ec == error::bad_version && names_other_version(first_line))
        return {status::version_not_supported, "this server supports HTTP/1.0 and HTTP/1.1"};
    return {status::bad_request, ec.message()};
}

std::optional<refusal> check_header(const request_parts& r, bool chunked) {
    const std::size_t hosts = r.fields.count("Host");
    if (hosts > 1 || (hosts == 0 && r.version >= 11))
        return refusal{status::bad_request, "a request must have exactly one Host field"};
    if (!is_host(r.fields.get("Host")))
        return refusal{status::bad_request, "the Host field must be the name or the address of a host, and a port"};
    if (r.fields.has("Expect") && r.version >= 11 && !same_text(r.fields.get("Expect"), "100-continue"))
        return refusal{status::expectation_failed, "100-continue is the only supported expectation"};
    const std::size_t codings = r.fields.count("Transfer-Encoding");
    if (codings == 0) return std::nullopt;
    if (r.version < 11 || r.fields.has("Content-Length"))
        return refusal{status::bad_request, "Transfer-Encoding is not allowed in this request"};
    if (!chunked || codings != 1 || !same_text(r.fields.get("Transfer-Encoding"), "chunked"))
        return refusal{status::not_implemented, "chunked is the only supported transfer coding"};
    return std::nullopt;
}

}  // namespace weft::http::detail
