// http.cc: see http.h.
// Boost 1.81 uses std::aligned_storage, which C++23 deprecates.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
#endif
#include <boost/beast/core/detail/type_traits.hpp>
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <cstring>
#include <system_error>

#include "observe/page/http.h"
#include "os/os.h"

namespace weft::observe::detail {

namespace {

std::chrono::steady_clock::time_point in(std::chrono::nanoseconds time) noexcept {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(weft::detail::os::monotonic_ns()) + time);
}

http::status status_of(const boost::system::error_code& ec) noexcept {
    if (ec == http::error::header_limit) return http::status::request_header_fields_too_large;
    if (ec == http::error::unexpected_body || ec == http::error::body_limit) return http::status::payload_too_large;
    if (ec == http::error::bad_version) return http::status::http_version_not_supported;
    return http::status::bad_request;
}

// The status line and the fields.
std::string header_of(http::response<http::empty_body>& message) {
    http::response_serializer<http::empty_body> serializer(message);
    serializer.split(true);
    std::string text;
    while (!serializer.is_header_done()) {
        boost::system::error_code ec;
        serializer.next(ec, [&](boost::system::error_code& /*ec*/, const auto& buffers) {
            for (auto at = boost::asio::buffer_sequence_begin(buffers); at != boost::asio::buffer_sequence_end(buffers);
                 ++at) {
                const boost::asio::const_buffer piece(*at);
                text.append(static_cast<const char*>(piece.data()), piece.size());
            }
            serializer.consume(boost::asio::buffer_size(buffers));
        });
        if (ec) break;  // an empty body has no errors
    }
    return text;
}

}  // namespace

response plain(http::status status, std::string_view text) {
    response answer;
    answer.status = status;
    (answer.body = text) += '\n';
    return answer;
}

// Reads what has come. False: the end, or an error.
bool connection::fill(std::error_code& ec) {
    const std::size_t n = stream_.read_some(net::mutable_buffer(buffer_ + filled_, sizeof(buffer_) - filled_), ec);
    filled_ += n;
    return n != 0 && !ec;
}

std::optional<request> connection::read() {
    std::error_code ec;
    stream_.set_read_deadline(in(timeout_));
    if (filled_ == 0 && !fill(ec)) return std::nullopt;  // idle for too long, or the end
    stream_.set_read_deadline(in(timeout_));
    http::request_parser<http::empty_body> parser;
    parser.header_limit(request_max);
    parser.body_limit(0);
    parser.eager(true);
    for (;;) {
        boost::system::error_code why;
        const std::size_t used = parser.put(boost::asio::const_buffer(buffer_, filled_), why);
        filled_ -= used;
        std::memmove(buffer_, buffer_ + used, filled_);
        if (why && why != http::error::need_more) {
            refuse(plain(status_of(why), why.message()));
            return std::nullopt;
        }
        if (parser.is_done()) return parser.release();
        if (filled_ == sizeof(buffer_)) {
            refuse(plain(http::status::request_header_fields_too_large, "the request is too long"));
            return std::nullopt;
        }
        if (fill(ec)) continue;
        if (ec == std::errc::timed_out)
            refuse(plain(http::status::request_timeout, "the request did not arrive in time"));
        return std::nullopt;
    }
}

bool connection::write(const request& asked, const response& answer) {
    return send(answer, asked.version(), asked.keep_alive(), asked.method() != http::verb::head);
}

void connection::refuse(const response& answer) {
    static_cast<void>(send(answer, 11, false, true));
    end();
}

bool connection::send(const response& answer, unsigned version, bool keep_alive, bool with_body) {
    http::response<http::empty_body> head(answer.status, version);
    const uint64_t size = answer.file ? answer.file->size() : answer.body.size();
    head.set(http::field::content_type, answer.type);
    head.set(http::field::cache_control, "no-store");
    head.set(http::field::x_frame_options, "DENY");
    head.set("X-Content-Type-Options", "nosniff");
    head.set("Referrer-Policy", "no-referrer");
    for (const auto& [field, value] : answer.fields) head.set(field, value);
    head.keep_alive(keep_alive);
    if (with_body || size != 0) head.content_length(size);  // the answer to HEAD may be made without a body
    const std::string header = header_of(head);
    stream_.set_write_deadline(
        in(response_allowance + std::chrono::seconds(static_cast<int64_t>(size) / response_rate)));
    std::error_code ec;
    if (!with_body || answer.file) {
        stream_.write_all(header, ec);
        if (!ec && with_body) stream_.sendfile(answer.file->fd(), 0, static_cast<std::size_t>(size), ec);
    } else {
        const net::const_buffer both[] = {header, answer.body};
        stream_.writev_all(both, ec);
    }
    return !ec && keep_alive;
}

// A socket that is closed with unread bytes resets the connection, and the peer may lose the
// response. So some of them are read.
void connection::end() {
    constexpr int reads_max = 64;
    constexpr std::chrono::milliseconds allowance{500};
    std::error_code ec;
    stream_.shutdown_send(ec);
    stream_.set_read_deadline(in(allowance));
    for (int i = 0; i < reads_max && !ec; ++i) {
        if (stream_.read_some(net::mutable_buffer(buffer_), ec) == 0) break;
    }
}

}  // namespace weft::observe::detail
