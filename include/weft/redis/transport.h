// transport.h: the connection below the Redis protocol: any stream of weft, behind one interface.
//
// So a client can use TLS, and the component does not depend on weft::tls:
//
//     how.connect = [&] {
//         return redis::make_transport(tls::stream::client(net::dial("db.example:6380"), "db.example", trust));
//     };
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <system_error>
#include <utility>

#include <weft/detail/require.h>
#include <weft/net/buffer.h>

namespace weft::redis {

/// A connection. Usually made by make_transport().
class transport {
public:
    transport() = default;
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;
    virtual ~transport() = default;

    [[nodiscard]] virtual std::size_t read_some(net::mutable_buffer b, std::error_code& ec) = 0;
    virtual void write_all(net::const_buffer b, std::error_code& ec) = 0;

    /// For reading and writing.
    virtual void set_deadline(std::chrono::steady_clock::time_point when) = 0;

    /// The descriptor of the socket.
    [[nodiscard]] virtual int native_handle() const noexcept = 0;
};

namespace detail {

template <typename Stream>
class transport_of final : public transport {
public:
    explicit transport_of(Stream s) noexcept : stream_(std::move(s)) {}

    std::size_t read_some(net::mutable_buffer b, std::error_code& ec) override { return stream_.read_some(b, ec); }

    void write_all(net::const_buffer b, std::error_code& ec) override { stream_.write_all(b, ec); }

    void set_deadline(std::chrono::steady_clock::time_point when) override {
        stream_.set_read_deadline(when);
        stream_.set_write_deadline(when);
    }

    [[nodiscard]] int native_handle() const noexcept override { return stream_.native_handle(); }

private:
    Stream stream_;
};

}  // namespace detail

/// Wraps a net::tcp_stream, net::unix_stream or tls::stream. Throws std::bad_alloc.
template <typename Stream>
[[nodiscard]] std::unique_ptr<transport> make_transport(Stream s) {
    return std::make_unique<detail::transport_of<Stream>>(std::move(s));
}

}  // namespace weft::redis
