// client.h: an HTTP client for green threads, over libcurl.
//
//     const weft::http::reply r = weft::http::get("http://127.0.0.1:8080/users/7");
//     if (r.ok()) use(r.text());
//
// For more than one request make a client. It keeps connections, and any number of green threads
// may use it at once:
//
//     weft::http::client c({.total_time = 10s, .retries_max = 2});
//     weft::http::reply r = c.send({.method = "PUT", .url = url, .body = text});
//     while (const std::size_t n = r.read_some(part)) …            // the body as it comes
//
// A caller parks until its reply has come; no OS thread waits. A cancellation or deadline around
// the caller (cancel.h) ends the wait at once, and closes the connection of that request.
//
// Times. Each phase has a limit of its own:
//
//   ─ resolve, connect, TLS ─┬─ request ─ silence ─┬─ header ─┬─ silence ─┬─ body ─
//    connect_time               idle_time, anew with each byte
//   ─ total_time: the whole, with redirects, retries and the body ────────────────
//
// See: docs/http_client.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <weft/detail/require.h>
#include <weft/http/headers.h>
#include <weft/net/buffer.h>

namespace weft::http {

namespace detail {
class client_state;
class exchange_state;
}  // namespace detail

/// Why there is no reply, or no complete one. what() of the exception names the request, and has
/// libcurl's own words. A status like 404 is no error.
enum class client_errc {
    bad_url = 1,         ///< the URL is malformed, or neither http nor https
    could_not_resolve,   ///< the name of the server, or of the proxy, has no address
    could_not_connect,   ///< nothing listens there, or the network has no way to it
    connect_timed_out,   ///< no connection after connect_time
    idle_timed_out,      ///< the server was silent for idle_time
    timed_out,           ///< the whole took longer than total_time
    tls_failed,          ///< the TLS handshake failed
    not_trusted,         ///< the server's certificate was not accepted
    connection_lost,     ///< the connection ended before the reply did
    bad_reply,           ///< the reply is not HTTP
    bad_encoding,        ///< the body cannot be decompressed
    too_many_redirects,  ///< more than redirects_max
    body_too_large,      ///< the body is larger than body_max
    proxy_failed,        ///< the proxy refused
    client_closed,       ///< the client was destroyed during the request
    failed,              ///< anything else
};

/// The category of client_errc. Codes of times are equivalent to std::errc::timed_out,
/// could_not_connect to std::errc::connection_refused, connection_lost to
/// std::errc::connection_reset.
[[nodiscard]] const std::error_category& client_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(client_errc e) noexcept {
    return {static_cast<int>(e), client_category()};
}

/// Which versions of HTTP a client offers.
enum class http_version {
    automatic,      ///< HTTP/2 over TLS where the server has it, otherwise HTTP/1.1
    http_1_1,       ///< HTTP/1.1
    http_2_direct,  ///< HTTP/2 without TLS too, for a server that is known to have it
};

/// Each time is for one request. nanoseconds::max() means no limit.
struct client_options {
    std::chrono::nanoseconds connect_time = std::chrono::seconds(10);  ///< name, connection, TLS handshake
    std::chrono::nanoseconds idle_time = std::chrono::seconds(30);     ///< without a byte, once connected
    std::chrono::nanoseconds total_time = std::chrono::minutes(5);     ///< redirects, retries, and the body

    uint64_t body_max = 16 * 1024 * 1024;  ///< bytes of a body that reply::body() reads. read_some() has no limit
    std::size_t buffer_size = 256 * 1024;  ///< bytes of a body that are kept before the server is made to wait
    unsigned redirects_max = 10;           ///< 0: a redirect is the reply
    unsigned retries_max = 0;              ///< of requests that may be repeated: docs/http_client.md
    std::chrono::nanoseconds retry_delay = std::chrono::milliseconds(100);  ///< before the first one; then doubled
    std::chrono::nanoseconds retry_delay_max = std::chrono::seconds(5);     ///< of one pause, also of Retry-After

    bool cookies = false;                   ///< keeps cookies, and sends them back, while the client exists
    bool decompress = true;                 ///< asks for compressed bodies, and decompresses them
    std::string user_agent = "weft";        ///< empty: no such field
    std::optional<std::string> proxy = {};  ///< the URL of a proxy; "": none; unset: the environment's

    bool verify = true;        ///< whether the server's certificate must be trusted, and be for that host
    std::string ca_file = {};  ///< PEM file with the authorities to trust; empty: the system's

    http_version version = http_version::automatic;
    std::size_t connections_per_host = 100;         ///< requests beyond that wait for a free one. 0: no limit
    std::size_t connections_max = 0;                ///< the same for all hosts together. 0: no limit
    std::size_t idle_connections_max = 100;         ///< that are kept for later requests
    std::chrono::seconds idle_connection_time{90};  ///< after which one that was not used is not used again
};

/// A request to send. Use designated initializers.
struct client_request {
    std::string method = "GET";
    std::string url;  ///< "https://example.com/a?b=c". Other characters must be percent-encoded
    http::headers headers = {};
    std::string body = {};

    /// If set, it provides the body: it writes up to that many bytes into the buffer and returns
    /// their number, 0 at the end. It is called by the caller of send(), and may wait.
    std::function<std::size_t(net::mutable_buffer)> body_from = {};
    std::optional<uint64_t> body_size = {};  ///< of body_from, if known; otherwise it is sent in chunks

    std::optional<std::chrono::nanoseconds> total_time = {};  ///< in place of the client's
};

/// A reply: the header, and the body as it comes. Movable. One green thread uses it at a time. It
/// may outlive its client; the body then ends with client_errc::client_closed. The destructor
/// closes the connection if the body has not been read to its end.
class reply {
public:
    reply(reply&&) noexcept;
    reply& operator=(reply&&) noexcept;
    reply(const reply&) = delete;
    reply& operator=(const reply&) = delete;
    ~reply();

    [[nodiscard]] unsigned status() const noexcept;

    /// Whether the status is 200 to 299.
    [[nodiscard]] bool ok() const noexcept { return status() / 100 == 2; }

    [[nodiscard]] const http::headers& headers() const noexcept;

    /// The value of the first field of that name; empty if the header has no such field.
    [[nodiscard]] std::string_view header(std::string_view name) const noexcept { return headers().get(name); }

    /// The URL that answered, after redirects.
    [[nodiscard]] const std::string& url() const noexcept;

    /// How many redirects, and how many retries, led here.
    [[nodiscard]] unsigned redirects() const noexcept;
    [[nodiscard]] unsigned retries() const noexcept;

    /// 10, 11 or 20: HTTP/1.0, HTTP/1.1 or HTTP/2.
    [[nodiscard]] unsigned version() const noexcept;

    /// Reads a part of the body, 1 to b.size() bytes; waits for the first. Returns 0 at its end.
    /// The server is made to wait while the program does not read. Throws std::system_error with a
    /// client_errc; weft::cancelled, weft::timed_out: the connection is then closed.
    [[nodiscard]] std::size_t read_some(net::mutable_buffer b);
    [[nodiscard]] std::size_t read_some(net::mutable_buffer b, std::error_code& ec);

    /// Reads the rest of the body, and keeps it for later calls. Throws as read_some(), and
    /// client_errc::body_too_large.
    const std::string& body();

    /// What body() has read. get() and post() have called it.
    [[nodiscard]] const std::string& text() const noexcept;

private:
    friend class detail::client_state;

    explicit reply(std::unique_ptr<detail::exchange_state> of) noexcept;

    std::unique_ptr<detail::exchange_state> state_;
};

/// A client: connections, cookies and options that requests share. Any green or plain thread may
/// call it, and any number at once. Destroy it before its runtime ends.
class client {
public:
    /// Starts one green thread, on the caller's runtime. Throws std::invalid_argument for options
    /// that cannot be used, std::system_error if libcurl cannot be used.
    explicit client(client_options how = {});

    /// Ends the requests that still run: their callers get client_errc::client_closed. Waits until
    /// all connections are closed. Not interrupted.
    ~client();

    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// Sends a request, and waits until the header of the reply is here. The body is read from the
    /// reply. Throws std::system_error with a client_errc, std::invalid_argument if the method is
    /// malformed, weft::cancelled, weft::timed_out, and what body_from throws.
    [[nodiscard]] reply send(client_request r);

    /// Sends a request, and reads the whole reply. Throws as send(), and reply::body().
    [[nodiscard]] reply get(std::string url);
    [[nodiscard]] reply post(std::string url, std::string body, std::string_view type = "text/plain; charset=utf-8");

private:
    std::shared_ptr<detail::client_state> state_;
};

/// One request, by a client of its own with the default options. Throws as client::get(). It keeps
/// no connection: for more requests make a client.
[[nodiscard]] reply get(std::string url);
[[nodiscard]] reply post(std::string url, std::string body, std::string_view type = "text/plain; charset=utf-8");

}  // namespace weft::http

template <>
struct std::is_error_code_enum<weft::http::client_errc> : std::true_type {};
