// request.h: a request, as a handler sees it.
//
// It lives until its handler returns. Texts are views that live as long. The body is not read until
// the handler asks for it, so an upload of any size takes no memory.
//
// Threads: the handler, or another green thread while the handler waits for it.
// See:     docs/http.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/detail/require.h>
#include <weft/event.h>
#include <weft/http/headers.h>
#include <weft/net/buffer.h>

namespace weft::http {

class form;

namespace detail {

class exchange;
struct access;

// What a request consists of. Views refer to texts of the same object, to the pattern, or to the
// connection.
struct request_parts {
    std::string method;
    std::string target;
    std::string path;
    std::string_view query;
    std::string_view pattern;
    std::vector<std::pair<std::string_view, std::string>> params;
    http::headers fields;
    http::headers trailers;
    std::optional<uint64_t> content_length;
    std::string_view peer;
    unsigned version = 11;
    bool is_secure = false;
    bool allows_encoded_body = false;
};

}  // namespace detail

class request {
public:
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    /// "GET"
    [[nodiscard]] std::string_view method() const noexcept { return parts_.method; }

    /// As the client sent it: "/users/7?full=1".
    [[nodiscard]] std::string_view target() const noexcept { return parts_.target; }

    /// The path of the target, decoded: "/users/7". It begins with a slash, and has no segment
    /// "..". It is "*" for "OPTIONS *", and empty for a malformed target, which middleware sees. A
    /// handler's has no empty segment and no ".", but those that the client wrote with %2F.
    [[nodiscard]] std::string_view path() const noexcept { return parts_.path; }

    /// What follows the first question mark, not decoded: "full=1". Empty without one.
    [[nodiscard]] std::string_view query() const noexcept { return parts_.query; }

    /// The first value of that name in the query, decoded; nullopt if the query has no such
    /// name.
    [[nodiscard]] std::optional<std::string> query(std::string_view name) const;

    /// The part of the path that {name} of the pattern stands for, decoded. It may contain a slash,
    /// also at its begin, that the client wrote as %2F: check it before it becomes the name of a
    /// file. Throws std::invalid_argument if the pattern has no such name.
    [[nodiscard]] std::string_view param(std::string_view name) const;

    /// The pattern that led to the handler; empty if none fits.
    [[nodiscard]] std::string_view pattern() const noexcept { return parts_.pattern; }

    [[nodiscard]] const http::headers& headers() const noexcept { return parts_.fields; }

    /// The value of the first field of that name; empty if the header has no such field.
    [[nodiscard]] std::string_view header(std::string_view name) const noexcept { return parts_.fields.get(name); }

    /// The value of the first cookie of that name, without quotes; nullopt if the client has not
    /// sent it. Names have case.
    [[nodiscard]] std::optional<std::string_view> cookie(std::string_view name) const noexcept;

    /// The host that the client asked for, as in the field Host: "example.com:8080". If the target
    /// has a host ("http://example.com/"), it is that one. May be empty under HTTP/1.0.
    [[nodiscard]] std::string_view host() const noexcept { return parts_.fields.get("Host"); }

    /// 10, 11 or 20: HTTP/1.0, HTTP/1.1 or HTTP/2.
    [[nodiscard]] unsigned version() const noexcept { return parts_.version; }

    /// The client's address: "127.0.0.1:4711". "-" if it is not known.
    [[nodiscard]] std::string_view peer() const noexcept { return parts_.peer; }

    /// Whether the connection is encrypted.
    [[nodiscard]] bool is_secure() const noexcept { return parts_.is_secure; }

    /// Set when server::shutdown() has begun. A handler that would not end by itself waits for it,
    /// too, as a case of a select (on_event), and returns. Lives as long as the server.
    [[nodiscard]] weft::event& draining() const noexcept;

    // ---- The body.

    /// The size of the body in bytes, if the client has announced it; 0 without a body.
    [[nodiscard]] std::optional<uint64_t> content_length() const noexcept { return parts_.content_length; }

    /// Reads a part of the body, 1 to b.size() bytes; waits for the first. Returns 0 at its end. A
    /// client that waits for "100 Continue" gets it now. Throws std::system_error, with a code of
    /// weft/http/error.h or of the socket; weft::cancelled.
    [[nodiscard]] std::size_t read_some(net::mutable_buffer b);
    [[nodiscard]] std::size_t read_some(net::mutable_buffer b, std::error_code& ec);

    /// Reads the rest of the body. Throws as read_some().
    [[nodiscard]] std::string body();

    /// Reads the body, a form without files (application/x-www-form-urlencoded). Include
    /// weft/http/form.h. Throws failure: 415 for another type, 400 if it is malformed; and as
    /// read_some(). Forms with files: weft/http/multipart.h.
    [[nodiscard]] http::form form();

    /// Lets the handler read a body with a Content-Encoding, as it was sent. Otherwise reading it
    /// fails with errc::encoded_body, for which the client gets 415.
    void allow_encoded_body() noexcept;

    /// Changes the limit server_options::body_max for this request, before the body is read.
    void set_body_max(uint64_t bytes) noexcept;

    /// The fields that follow a chunked body. Empty until the end of the body has been read.
    [[nodiscard]] const http::headers& trailers() const noexcept { return parts_.trailers; }

private:
    friend class detail::exchange;
    friend struct detail::access;

    explicit request(detail::exchange& of) noexcept : exchange_(of) {}

    ~request() = default;

    detail::exchange& exchange_;
    detail::request_parts parts_;
};

}  // namespace weft::http
