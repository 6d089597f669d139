// stream.h: a stream of bytes that nobody in between can read or change: TLS over a connected socket.
//
// It looks like a net::stream: its calls block only the green thread that makes them, are cancellation points where they wait, heed the
// deadlines set for their direction, and come in two forms, one of which throws std::system_error (and weft::cancelled or weft::timed_out
// where the caller is interrupted), while the other one fills a std::error_code. What may go wrong besides is in weft/tls/error.h.
//
//   auto trust = weft::tls::context::client();
//   auto s = weft::tls::stream::connect(endpoint, "example.org", trust);   // connects and shakes hands; the certificate is good
//   s.write_all("GET / HTTP/1.0\r\n\r\n");
//
// One green thread may read while another one writes. Several may read, or write: each call is whole. Any thread may close() at any
// time. Moving, assigning and destroying are for one thread, while nobody else uses the object.
//
// The end. A stream ends well when the other side says so (TLS calls that close_notify): then reads return 0. A connection that ends
// without it may have been cut by somebody in between: that is errc::truncated. shutdown_send() and close() say it for this side; the
// destructor does not, so that a program that gives up in the middle does not look like one that has finished.
//
// What is below is encrypted in pieces. A write that fails after a piece was encrypted reports it as taken: what is left of it is sent by
// the next write.
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
    // None: every call fails with weft::errc::closed.
    stream() noexcept;
    stream(stream&& other) noexcept;
    stream& operator=(stream&& other) noexcept;

    // Closes the connection, and says nothing to the other side: see above.
    ~stream();

    // ---- Beginning.

    // The two ends of a connection that is there: over takes part from now on. The handshake is made by handshake(), or else by whoever first
    // reads or writes. host: the name (or IP address) that the server's certificate must be for; it is also told to the server (SNI).
    // Throw std::invalid_argument where the context is for the other end, or the host is missing.
    [[nodiscard]] static stream client(net::stream&& over, std::string_view host, const context& with);
    [[nodiscard]] static stream server(net::stream&& over, const context& with);

    // Connects to an address by TCP, and shakes hands with host there. With an error the result is not open; its failure() may say more.
    [[nodiscard]] static stream connect(const net::endpoint& to, std::string_view host, const context& with);
    [[nodiscard]] static stream connect(const net::endpoint& to,
                                        std::string_view host,
                                        const context& with,
                                        std::error_code& ec);

    // Agrees with the other side on keys, and who it is. Returns at once if that has been done. Both deadlines count. After one that has passed,
    // or a cancellation, it goes on where it was at the next call; after any other error the stream cannot be used.
    void handshake();
    void handshake(std::error_code& ec);

    // ---- Reading. 0: the other side has said that there is no more, or b is empty.

    // Reads what is there, at least a byte, at most b.size().
    [[nodiscard]] std::size_t read_some(net::mutable_buffer b);
    [[nodiscard]] std::size_t read_some(net::mutable_buffer b, std::error_code& ec);

    // Fills b. Returns b.size(), or less at the end. With an error: how many bytes had been read before.
    [[nodiscard]] std::size_t read(net::mutable_buffer b);
    [[nodiscard]] std::size_t read(net::mutable_buffer b, std::error_code& ec);

    // ---- Writing. After shutdown_send() it is std::errc::broken_pipe.

    // Writes a part of b, at least a byte, at most what goes into a record (16 KiB). Returns how many; 0: b is empty.
    [[nodiscard]] std::size_t write_some(net::const_buffer b);
    [[nodiscard]] std::size_t write_some(net::const_buffer b, std::error_code& ec);

    // Writes all of b. Returns b.size(); with an error, how many bytes were taken.
    std::size_t write_all(net::const_buffer b);
    std::size_t write_all(net::const_buffer b, std::error_code& ec);

    // As write_all(), from several pieces of memory, as if they were one: small ones share records.
    std::size_t writev_all(std::span<const net::const_buffer> from);
    std::size_t writev_all(std::span<const net::const_buffer> from, std::error_code& ec);

    // ---- Ending.

    // The other side reads the end; what it still sends can be read. (Under TLS 1.2 many programs then send no more.)
    void shutdown_send();
    void shutdown_send(std::error_code& ec);

    // The connection ends, both ways; whoever waits is woken with weft::errc::closed. Says so to the other side if nobody is writing and it
    // can be done without waiting. Any thread, any number of times. What write calls have taken is sent, as by net::stream::close().
    void close() noexcept;

    [[nodiscard]] bool is_open() const noexcept;

    // ---- Deadlines: as those of net::stream.

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

    // ---- What was agreed on. After the handshake; before, these are empty, false and tls_1_2.

    // The application protocol (ALPN); empty: none.
    [[nodiscard]] std::string protocol() const;

    [[nodiscard]] version agreed_version() const;

    [[nodiscard]] std::string cipher() const;

    // Of a server: the host that the client has asked for; empty: it has not said.
    [[nodiscard]] std::string asked_host() const;

    // Whose certificate the other side has shown, as one line ("CN = example.org"); empty: none.
    [[nodiscard]] std::string peer() const;

    // Whether a part of the handshake was spared, see client_options::sessions.
    [[nodiscard]] bool resumed() const;

    // What exactly went wrong, for people: the reason of the last error that has a code of TLS. Empty: there was none.
    [[nodiscard]] std::string failure() const;

    // The socket's descriptor, for options: valid until close(). Do not read from it, or write to it.
    [[nodiscard]] int native_handle() const noexcept;

private:
    explicit stream(std::unique_ptr<detail::connection> c) noexcept;

    void set_read_deadline_ns(int64_t when) noexcept;
    void set_write_deadline_ns(int64_t when) noexcept;

    std::unique_ptr<detail::connection> connection_;
};

}  // namespace weft::tls
