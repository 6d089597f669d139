// connection_read.cc: the requests of a connection. See connection.h.
#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>

#include <weft/error.h>

#include "http/connection.h"
#include "http/later.h"
#include "http/target.h"
#include "http/text.h"

namespace weft::http::detail {

using error = boost::beast::http::error;

namespace {

boost::asio::const_buffer buffer_of(std::string_view text) noexcept { return {text.data(), text.size()}; }

}  // namespace

// The first line, as far as it was read, for the log; also of a refused request.
void connection::note_first_line() {
    const request_parts& r = access::parts(request_);
    if (r.method.empty()) {
        const std::string_view begun = in_.text();
        first_line_ = begun.substr(0, begun.find_first_of("\r\n"));
    } else {
        first_line_ = first_line();
    }
}

connection::header_result connection::refuse(const refusal& why) {
    if (first_line_.empty()) note_first_line();
    is_head_request_ = first_line_.starts_with("HEAD ");
    keep_alive_ = false;
    answer(why.status, why.why);
    return header_result::refused;
}

connection::header_result connection::read_header() {
    client_->set_read_deadline(later(began_, server_.how.header_time));
    for (;;) {
        boost::system::error_code wrong;
        if (!in_.empty()) {
            const std::size_t used = parser().put(buffer_of(in_.text()), wrong);
            in_.consume(used);
            if (!wrong) break;
            if (wrong != error::need_more) {
                note_first_line();
                return refuse(refusal_of(wrong, first_line_));
            }
        }
        if (in_.size() >= server_.how.header_max)
            return refuse({status::header_fields_too_large, "the header is too large"});
        std::error_code ec;
        const std::size_t n = client_->read_some(in_.room(), ec);
        in_.add(n);
        if (n != 0) continue;
        if (ec == weft::errc::timed_out) return refuse({status::request_timeout, "the request did not arrive in time"});
        return header_result::broken;
    }
    request_parts& r = access::parts(request_);
    is_head_request_ = r.method == "HEAD";
    // RFC 9112, 3.2.2: the host of the target is the one that counts.
    if (const std::optional<split_target> parts = split(r.target); parts && !parts->authority.empty()) {
        if (r.fields.count("Host") <= 1 && (r.fields.has("Host") || r.version < 11))
            r.fields.set("Host", parts->authority);
    }
    if (const std::optional<refusal> no = check_header(r, parser().chunked())) return refuse(*no);
    keep_alive_ = parser().keep_alive();
    if (r.fields.has_token("Connection", "close")) keep_alive_ = false;  // whatever else it says
    if (!parser().chunked()) r.content_length = parser().content_length().value_or(0);
    expects_continue_ = r.version >= 11 && !parser().is_done() && r.fields.has("Expect");
    return header_result::complete;
}

void connection::set_body_max(uint64_t bytes) noexcept { parser().set_body_max(bytes); }

std::size_t connection::fail_body(errc why, std::error_code& ec) {
    body_error_ = why;
    keep_alive_ = false;
    ec = body_error_;
    return 0;
}

// Parses what has arrived. Returns whether that gave bytes, the end, or an error.
bool connection::parse_body(std::error_code& ec) {
    while (!in_.empty() && !parser().is_done()) {
        boost::system::error_code wrong;
        const std::size_t before = parser().filled();
        const std::size_t used = parser().put(buffer_of(in_.text()), wrong);
        in_.consume(used);
        if (wrong == error::need_more) {
            // A line of a chunk's size, or trailers.
            if (in_.size() >= server_.how.header_max + input::least) fail_body(errc::bad_body, ec);
            break;
        }
        if (wrong) {
            fail_body(wrong == error::body_limit ? errc::body_too_large : errc::bad_body, ec);
            return true;
        }
        if (used == 0 && parser().filled() == before) break;  // there is no more room
    }
    if (parser().is_done()) watch_->body_ended();
    return parser().filled() != 0 || parser().is_done() || static_cast<bool>(ec);
}

// Reads more of the body from the client. Only the time in which it waits counts. Returns 0 on an
// error.
std::size_t connection::fill_body(net::mutable_buffer room, std::error_code& ec) {
    if (expects_continue_) {
        expects_continue_ = false;
        const std::array<net::const_buffer, 1> go_on{net::const_buffer("HTTP/1.1 100 Continue\r\n\r\n")};
        if (!response_.has_begun()) write_out(go_on, ec);
        if (ec) return 0;
    }
    const clock::time_point begin = clock::now();
    client_->set_read_deadline(later(begin, body_time_left_));
    const std::size_t n = client_->read_some(room, ec);
    body_time_left_ -= clock::now() - begin;
    body_bytes_in_time_ += n;
    if (body_bytes_in_time_ >= bytes_in_time) {
        body_bytes_in_time_ = 0;
        body_time_left_ = server_.how.body_time;
    }
    if (n != 0) {
        ec.clear();
        return n;
    }
    if (!ec) {
        fail_body(errc::incomplete_body, ec);
    } else if (ec == weft::errc::timed_out && body_time_left_ <= std::chrono::nanoseconds(0)) {
        fail_body(errc::body_too_slow, ec);
    }
    return 0;
}

// Reads a body without chunks to where the handler wants it. Returns false on an error.
bool connection::read_directly(net::mutable_buffer into, std::error_code& ec) {
    const uint64_t rest = parser().content_length_remaining().value_or(0);
    const std::size_t most = static_cast<std::size_t>(std::min<uint64_t>(rest, into.size()));
    const std::size_t n = fill_body({into.data(), most}, ec);
    if (n == 0) return false;
    boost::system::error_code wrong;
    parser().put(boost::asio::const_buffer(into.data(), n), wrong);
    if (parser().is_done()) watch_->body_ended();
    return true;
}

std::size_t connection::read_body(net::mutable_buffer into, std::error_code& ec) {
    ec = body_error_;
    if (ec || into.size() == 0 || parser().is_done()) return 0;
    const request_parts& r = access::parts(request_);
    if (!r.allows_encoded_body && is_encoded_unexpectedly()) return fail_body(errc::encoded_body, ec);
    const std::optional<uint64_t> size = request_.content_length();
    if (size && *size > parser().body_max()) return fail_body(errc::body_too_large, ec);
    if (!in_.empty()) expects_continue_ = false;  // the client did not wait for it
    parser().set_room(into);
    while (!parse_body(ec) && !ec) {
        if (in_.empty() && !parser().chunked()) {
            if (!read_directly(into, ec)) break;
            return parser().filled();
        }
        const std::size_t n = fill_body(in_.room(), ec);
        in_.add(n);
        if (n == 0) break;
    }
    return parser().filled();
}

}  // namespace weft::http::detail
