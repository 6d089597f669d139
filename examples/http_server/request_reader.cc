#include "request_reader.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <string_view>

namespace http_server {

namespace {

using boost::system::error_code;
using error = http::error;

constexpr std::size_t read_at_least = 4096;
constexpr std::size_t read_ahead_most = std::size_t{64} * 1024;  // of bodies, and of pipelined requests

std::string_view text_of(const boost::beast::flat_buffer& buffer) {
    return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

// Whether the line names another version, like "GET / HTTP/2.0". A supported version can cause the
// error, too, if it is not followed by the end of a line.
bool names_other_version(std::string_view first_line) {
    const std::string_view end = first_line.substr(first_line.size() - std::min<std::size_t>(first_line.size(), 9));
    return end.starts_with(" HTTP/") && end.find_first_not_of("0123456789.", 6) == std::string_view::npos &&
           end != " HTTP/1.1" && end != " HTTP/1.0";
}

// Returns the refusal for an error of the parser; nullopt if the connection itself has failed.
std::optional<refusal> refusal_for(const error_code& ec, std::string_view first_line) {
    if (ec == boost::asio::error::timed_out)
        return refusal{http::status::request_timeout, "the request did not arrive in time"};
    if (ec == error::header_limit || ec == error::buffer_overflow) {
        return refusal{http::status::request_header_fields_too_large, "the header is too large"};
    }
    if (ec == error::body_limit) return refusal{http::status::payload_too_large, "the body is too large"};
    if (ec == error::bad_version && names_other_version(first_line)) {
        return refusal{http::status::http_version_not_supported, "this server supports HTTP/1.0 and HTTP/1.1"};
    }
    if (ec == error::end_of_stream || ec.category() != http::make_error_code(error::bad_method).category()) return {};
    return refusal{http::status::bad_request, ec.message()};
}

// Refuses what the parser accepts, but another server could interpret as a different request (RFC
// 9112, 3.2 and 6.1).
void check(const http::request_header<>& header, bool chunked) {
    const auto [first, last] = header.equal_range(http::field::host);
    const auto hosts = std::distance(first, last);
    if (hosts > 1 || (hosts == 0 && header.version() >= 11)) {
        throw refusal{http::status::bad_request, "a request must have exactly one Host field"};
    }
    const std::string_view coding = value_of(header, http::field::transfer_encoding);
    if (coding.empty() && header.count(http::field::transfer_encoding) == 0) return;
    if (header.version() < 11 || header.count(http::field::content_length) != 0) {
        throw refusal{http::status::bad_request, "Transfer-Encoding is not allowed in this request"};
    }
    if (!chunked || header.count(http::field::transfer_encoding) != 1 || !boost::beast::iequals(coding, "chunked")) {
        throw refusal{http::status::not_implemented, "chunked is the only supported transfer coding"};
    }
}

bool expects_continue(const http::request_header<>& header) {
    const std::string_view expected = value_of(header, http::field::expect);
    if (expected.empty() || header.version() < 11) return false;
    if (boost::beast::iequals(expected, "100-continue")) return true;
    throw refusal{http::status::expectation_failed, "100-continue is the only supported expectation"};
}

std::string first_line_of(const http::request_header<>& header) {
    const auto method = header.method_string();
    const auto target = header.target();
    return std::string(method.data(), method.size()) + ' ' + std::string(target.data(), target.size()) +
           (header.version() >= 11 ? " HTTP/1.1" : " HTTP/1.0");
}

// The size as received, except for optional spaces.
std::size_t size_of(const http::request_header<>& header, std::size_t first_line) {
    std::size_t size = first_line + 4;
    for (const auto& field : header) size += field.name_string().size() + field.value().size() + 4;
    return size;
}

}  // namespace

request_reader::request_reader(stream& client, connections::entry& place, const limits& allowed)
    : client_(client), place_(place), allowed_(allowed), buffer_(allowed.header_bytes + read_ahead_most) {}

bool request_reader::await_request() {
    const auto skip_empty_lines = [this] {
        const std::string_view text = text_of(buffer_);
        buffer_.consume(std::min(text.find_first_not_of("\r\n"), text.size()));
        return buffer_.size() != 0;
    };
    if (skip_empty_lines()) return true;
    if (!place_.begin_idle(allowed_.idle_time)) return false;
    error_code ec;
    do {
        buffer_.commit(client_.read_some(buffer_.prepare(read_at_least), ec));
    } while (!ec && !skip_empty_lines());
    place_.end_idle();
    return !ec;
}

// Stores as much of the first line as has arrived, while it is in the buffer. It may arrive in
// pieces.
void request_reader::note_first_line() {
    const std::string_view begun = text_of(buffer_);
    if (begun.starts_with(first_line_)) first_line_ = begun.substr(0, begun.find_first_of("\r\n"));
}

// Returns false if the connection is broken.
bool request_reader::read_until_done(parser& p, bool header_only) {
    error_code ec;
    if (header_only) {
        http::read_header(client_, buffer_, p, ec);
    } else {
        http::read(client_, buffer_, p, ec);
    }
    if (!ec) return true;
    if (header_only) {
        if (p.get().target().empty()) {
            note_first_line();
        } else {  // the parser has consumed it from the buffer
            first_line_ = first_line_of(p.get());
        }
    }
    if (const auto no = refusal_for(ec, first_line_)) throw *no;
    return false;
}

std::optional<request> request_reader::read() {
    first_line_.clear();
    note_first_line();

    parser p;
    p.header_limit(static_cast<uint32_t>(allowed_.header_bytes));
    p.body_limit(allowed_.body_bytes);
    client_.next_layer().set_read_time(allowed_.header_time);
    if (!read_until_done(p, true)) return std::nullopt;
    const http::request_header<>& header = p.get();
    first_line_ = first_line_of(header);
    // Beast compares the limit only with what it has not parsed yet.
    if (size_of(header, first_line_.size()) > allowed_.header_bytes)
        throw refusal{http::status::request_header_fields_too_large, "the header is too large"};
    check(header, p.chunked());

    client_.next_layer().set_read_time(allowed_.body_time);
    if (expects_continue(header) && !p.is_done() && buffer_.size() == 0) {
        error_code ec;
        boost::asio::write(client_, boost::asio::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25), ec);
        if (ec) return std::nullopt;
    }
    if (!p.is_done() && !read_until_done(p, false)) return std::nullopt;
    return p.release();
}

}  // namespace http_server
