// response.h: the response to a request, as a handler writes it.
//
//     w.send("hello\n");                       // 200, text/plain
//     w.status(201).set("Location", "/users/7");
//     for (const auto& row : rows) w.write(row);
//
// Up to 16 KiB of the body are kept until the handler returns. A response that fits is sent whole,
// with its Content-Length. A longer one, or one that is flushed, is sent as it is written: in
// chunks, or with the Content-Length that the handler has set. write() then waits until the client
// takes the data.
//
// The header cannot be changed once it has been sent: these calls then throw std::logic_error.
//
// Threads: the handler, or another green thread while the handler waits for it.
// See:     docs/http.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/detail/require.h>
#include <weft/fs.h>
#include <weft/http/headers.h>
#include <weft/http/status.h>
#include <weft/net/buffer.h>

namespace weft::http {

struct cookie;
class event_stream;
struct event_options;
class websocket;
struct websocket_options;

namespace detail {

class body_filter;
class exchange;
struct access;

struct response_parts {
    unsigned status = status::ok;
    bool has_begun = false;   // the header has been sent
    uint64_t body_bytes = 0;  // that were written
    http::headers fields;
    http::headers trailers;
    std::string unsent;  // the part of the body that is written and not sent
    body_filter* filter = nullptr;
};

}  // namespace detail

class response {
public:
    response(const response&) = delete;
    response& operator=(const response&) = delete;

    // ---- The header.

    /// From 200 to 999; 200 if it is not set. Throws std::invalid_argument, std::logic_error.
    response& status(unsigned code);

    [[nodiscard]] unsigned status() const noexcept { return parts_.status; }

    /// set() replaces the fields of that name, add() adds one. Throw std::invalid_argument, as
    /// headers::add(), and for Transfer-Encoding, which the server sets.
    response& set(std::string_view name, std::string_view value);
    response& add(std::string_view name, std::string_view value);
    response& erase(std::string_view name);

    /// Adds a field Set-Cookie. Include weft/http/cookie.h. Throws std::invalid_argument if a part
    /// of the cookie has a character that it cannot have, or its attributes contradict each other.
    response& set_cookie(const cookie& c);

    [[nodiscard]] const http::headers& headers() const noexcept { return parts_.fields; }

    // ---- The body. In responses to HEAD, and with the status 204 or 304, it is not sent.

    /// Adds to the body. Throws std::system_error: of the socket, errc::timed_out if the client
    /// takes too long, http::errc::wrong_length; weft::cancelled if the client has gone.
    /// After an error of it nothing more is sent.
    void write(net::const_buffer b);

    /// Sends the header, if it was not sent, and what has been written. Throws as write().
    void flush();

    /// The whole response: the body, and its type. Replaces what was written and not sent.
    void send(std::string_view body, std::string_view type = "text/plain; charset=utf-8");

    /// 302, or another status, with that Location.
    void redirect(std::string_view to, unsigned code = status::found);

    /// The whole body: size bytes of an open file, from offset on. Without TLS the kernel copies
    /// them. If the file turns out to be shorter, the connection ends, so that the response does
    /// not look complete. Throws as write(), and as fs::file::pread().
    void send_file(fs::file& file, uint64_t offset, uint64_t size);

    /// Begins a stream of events, and sends the header. The response must outlive the stream.
    /// Include weft/http/events.h. Throws failure (405) for HEAD, std::invalid_argument, and as
    /// write().
    [[nodiscard]] event_stream events();
    [[nodiscard]] event_stream events(const event_options& how);

    /// Makes the connection a WebSocket, with the fields that are set. The connection ends with the
    /// handler. The response must outlive the socket. Include weft/http/websocket.h. Throws failure
    /// if the request does not ask for it (426), is malformed (400), or comes from a page of
    /// another site (403); std::invalid_argument; std::system_error if the client has gone.
    [[nodiscard]] websocket upgrade_websocket();
    [[nodiscard]] websocket upgrade_websocket(websocket_options how);

    /// Adds a field that follows the body. A client of HTTP/1.0 does not get it. Throws
    /// std::invalid_argument, as headers::add(), for Host, and for fields about the connection or
    /// the size: Transfer-Encoding, Content-Length, Connection, Keep-Alive, Proxy-Connection,
    /// Upgrade.
    void trailer(std::string_view name, std::string_view value);

    /// Whether the header has been sent.
    [[nodiscard]] bool has_begun() const noexcept { return parts_.has_begun; }

    /// Bytes of the body so far.
    [[nodiscard]] uint64_t body_bytes() const noexcept { return parts_.body_bytes; }

private:
    friend class detail::exchange;
    friend struct detail::access;

    explicit response(detail::exchange& of) noexcept : exchange_(of) {}

    ~response() = default;

    void check_not_begun(const char* what) const;
    void send_pieces(std::span<const net::const_buffer> pieces, bool is_flushed, std::error_code& ec);
    void write_file(fs::file& file, uint64_t offset, uint64_t size);

    detail::exchange& exchange_;
    detail::response_parts parts_;
};

}  // namespace weft::http
