// transport.h: a connection, plain or over TLS, with the same interface for both.
//
// It has what weft::asio::stream needs of a stream, so one instance of Beast's templates reads from
// both kinds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <variant>

#include <weft/fs.h>
#include <weft/net/tcp.h>
#if WITH_WEFT_TLS
#include <weft/tls/stream.h>
#endif

namespace http_server {

#if WITH_WEFT_TLS
using plain_or_secured = std::variant<weft::net::tcp_stream, weft::tls::stream>;
#else
using plain_or_secured = std::variant<weft::net::tcp_stream>;
#endif

class transport {
public:
    explicit transport(plain_or_secured stream) : stream_(std::move(stream)) {}

    // Does the TLS handshake; nothing on a plain connection.
    void handshake(std::error_code& ec);

    [[nodiscard]] std::size_t read_some(weft::net::mutable_buffer b, std::error_code& ec);
    std::size_t writev_all(std::span<const weft::net::const_buffer> from, std::error_code& ec);

    // Sends size bytes of a file, or fewer if the file ends earlier. Returns how many were sent.
    // Without TLS the kernel copies them.
    std::size_t send_file(weft::fs::file& file, uint64_t offset, std::size_t size, std::error_code& ec);

    void shutdown_send(std::error_code& ec);
    void close() noexcept;

    // Set a time limit, from now on.
    void set_read_time(std::chrono::milliseconds time);
    void set_write_time(std::chrono::milliseconds time);

private:
    plain_or_secured stream_;
};

// The server's TLS context, or nothing.
class security {
public:
    // For plain connections.
    security() noexcept = default;

    // Throws std::runtime_error, which says what is wrong with the files, or that this program was
    // built without TLS.
    security(const std::string& certificate_file, const std::string& key_file);

    [[nodiscard]] transport wrap(weft::net::tcp_stream accepted) const;

    [[nodiscard]] bool is_on() const noexcept { return is_on_; }

    [[nodiscard]] const char* scheme() const noexcept { return is_on_ ? "https" : "http"; }

private:
    bool is_on_ = false;
#if WITH_WEFT_TLS
    std::unique_ptr<const weft::tls::context> context_;
#endif
};

}  // namespace http_server
