// stream.h: an encrypted and authenticated stream of bytes: TLS over a connected socket.
//
// It is used like a net::stream. Its calls block only the calling green thread, are cancellation
// points where they wait, and observe the deadlines of their direction. One form throws
// std::system_error (and weft::cancelled or weft::timed_out if the caller is interrupted); the
// other fills a std::error_code. weft/tls/error.h lists further errors.
//
//   auto trust = weft::tls::context::client();
//   auto s = weft::tls::stream::connect(endpoint, "example.org", trust);   // connects and shakes hands; the certificate is good
//   s.write_all("GET / HTTP/1.0\r\n\r\n");
//
// One green thread may read while another writes. Several may read, or write: each call is atomic.
// Any thread may close() at any time. Move, assign and destroy the object only while no other
// thread uses it.
//
// End of stream. A stream ends cleanly when the peer says so (TLS's close_notify): reads then
// return 0. A connection that ends without it may have been cut by an attacker: errc::truncated.
// shutdown_send() and close() send close_notify. The destructor does not, so that an aborted
// transfer does not look complete.
//
// Data is encrypted in pieces. If a write fails after a piece was encrypted, that piece counts as
// written, and the next write sends the rest of it.
//
// See: docs/tls.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/detail/require.h>
#include <weft/detail/time_point.h>
#include <weft/net/buffer.h>
#include <weft/net/endpoint.h>
#include <weft/net/stream.h>
#include <weft/tls/context.h>
#include <weft/tls/error.h>

namespace weft::tls {

namespace detail {
class connection;
}  // namespace detail

class stream {
public:
    /// Not open: every call fails with weft::errc::closed.
    stream() noexcept;
    stream(stream&& other) noexcept;
    stream& operator=(stream&& other) noexcept;

    /// Closes the connection without telling the peer: see above.
    ~stream();

    // ---- Opening.

    /// Create the two ends over an existing connection, which the stream takes over. handshake()
    /// makes the handshake, or else the first read or write.
    ///
    /// host is the name (or IP address) that the server's certificate must match; it is also sent
    /// to the server (SNI). Throw std::invalid_argument if the context is for the other end, or the
    /// host is missing.
    [[nodiscard]] static stream client(net::stream&& over, std::string_view host, const context& with);
    [[nodiscard]] static stream server(net::stream&& over, const context& with);

    /// Connects by TCP and makes the handshake with host. On error the result is not open; its
    /// failure() may say more.
    [[nodiscard]] static stream connect(const net::endpoint& to, std::string_view host, const context& with);
    [[nodiscard]] static stream connect(const net::endpoint& to,
                                        std::string_view host,
                                        const context& with,
                                        std::error_code& ec);

    /// Agrees on keys with the peer and authenticates it. Returns at once if that has been done.
    /// Both deadlines apply. After a timeout or a cancellation, the next call continues where it
    /// stopped; after any other error the stream is unusable.
    void handshake();
    void handshake(std::error_code& ec);

    // ---- Reading. 0: the peer has signalled the end, or b is empty.

    /// Reads what is available, 1 to b.size() bytes.
    [[nodiscard]] std::size_t read_some(net::mutable_buffer b);
    [[nodiscard]] std::size_t read_some(net::mutable_buffer b, std::error_code& ec);

    /// Fills b. Returns b.size(), or less at the end. On error: the number of bytes read before it.
    [[nodiscard]] std::size_t read(net::mutable_buffer b);
    [[nodiscard]] std::size_t read(net::mutable_buffer b, std::error_code& ec);

    // ---- Writing. After shutdown_send() it gives std::errc::broken_pipe.

    /// Writes a part of b, from one byte to one record (16 KiB). Returns the number of bytes; 0 if
    /// b is empty.
    [[nodiscard]] std::size_t write_some(net::const_buffer b);
    [[nodiscard]] std::size_t write_some(net::const_buffer b, std::error_code& ec);

    /// Writes all of b. Returns b.size(); on error, the number of bytes taken.
    std::size_t write_all(net::const_buffer b);
    std::size_t write_all(net::const_buffer b, std::error_code& ec);

    /// As write_all(), from several pieces of memory, treated as one: small ones share records.
    std::size_t writev_all(std::span<const net::const_buffer> from);
    std::size_t writev_all(std::span<const net::const_buffer> from, std::error_code& ec);

    // ---- Closing.

    /// Signals the end to the peer; data that it still sends can be read. (Under TLS 1.2 many
    /// programs then send no more.)
    void shutdown_send();
    void shutdown_send(std::error_code& ec);

    /// Ends the connection in both directions and wakes waiters with weft::errc::closed. Tells the
    /// peer if no write is in progress and that needs no wait. Any thread, any number of times.
    /// Data taken by write calls is sent, as by net::stream::close().
    void close() noexcept;

    [[nodiscard]] bool is_open() const noexcept;

    // ---- Deadlines: as for net::stream.

    template <typename Clock, typename Duration>
    void set_deadline(std::chrono::time_point<Clock, Duration> when) {
        set_read_deadline(when);
        set_write_deadline(when);
    }

    template <typename Clock, typename Duration>
    void set_read_deadline(std::chrono::time_point<Clock, Duration> when) {
        set_read_deadline_ns(weft::detail::deadline_at(when));
    }

    template <typename Clock, typename Duration>
    void set_write_deadline(std::chrono::time_point<Clock, Duration> when) {
        set_write_deadline_ns(weft::detail::deadline_at(when));
    }

    void clear_deadline() noexcept {
        set_read_deadline_ns(weft::detail::never);
        set_write_deadline_ns(weft::detail::never);
    }

    // ---- Results of the handshake. Before it these are empty, false and tls_1_2.

    /// The application protocol (ALPN); empty: none.
    [[nodiscard]] std::string protocol() const;

    [[nodiscard]] version agreed_version() const;

    [[nodiscard]] std::string cipher() const;

    /// On a server: the host that the client asked for; empty: none.
    [[nodiscard]] std::string asked_host() const;

    /// The subject of the peer's certificate, as one line ("CN = example.org"); empty: none.
    [[nodiscard]] std::string peer() const;

    /// Whether the handshake was shortened, see client_options::sessions.
    [[nodiscard]] bool resumed() const;

    /// A readable reason for the last error with a TLS code. Empty: no such error.
    [[nodiscard]] std::string failure() const;

    /// The socket's descriptor, for options: valid until close(). Do not read from it or write to
    /// it.
    [[nodiscard]] int native_handle() const noexcept;

private:
    explicit stream(std::unique_ptr<detail::connection> c) noexcept;

    void set_read_deadline_ns(int64_t when) noexcept;
    void set_write_deadline_ns(int64_t when) noexcept;

    std::unique_ptr<detail::connection> connection_;
};

}  // namespace weft::tls
