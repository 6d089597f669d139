// transport.h: the connection below HTTP: any stream of weft, behind one interface.
//
// So the server is compiled once for all streams, and does not depend on weft::tls.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <weft/detail/require.h>
#include <weft/net/buffer.h>

namespace weft::http::detail {

class transport {
public:
    using time_point = std::chrono::steady_clock::time_point;

    transport() = default;
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;
    virtual ~transport() = default;

    // Nothing for a stream without TLS.
    virtual void handshake(std::error_code& ec) = 0;
    [[nodiscard]] virtual std::size_t read_some(net::mutable_buffer b, std::error_code& ec) = 0;
    virtual std::size_t writev_all(std::span<const net::const_buffer> from, std::error_code& ec) = 0;

    // Whether send_file() is possible. It returns the number of bytes, fewer if the file ends.
    [[nodiscard]] virtual bool sends_files() const noexcept = 0;
    virtual std::size_t send_file(int file, uint64_t offset, std::size_t size, std::error_code& ec) = 0;

    virtual void shutdown_send(std::error_code& ec) = 0;
    virtual void close() noexcept = 0;
    virtual void set_read_deadline(time_point when) = 0;
    virtual void set_write_deadline(time_point when) = 0;
    [[nodiscard]] virtual bool is_secure() const noexcept = 0;

    // What was agreed on in the handshake (ALPN); empty: nothing.
    [[nodiscard]] virtual std::string protocol() const = 0;
};

template <typename Stream>
class transport_of final : public transport {
public:
    explicit transport_of(Stream stream) : stream_(std::move(stream)) {}

    void handshake(std::error_code& ec) override {
        if constexpr (has_handshake) stream_.handshake(ec);
    }

    std::size_t read_some(net::mutable_buffer b, std::error_code& ec) override { return stream_.read_some(b, ec); }

    std::size_t writev_all(std::span<const net::const_buffer> from, std::error_code& ec) override {
        return stream_.writev_all(from, ec);
    }

    [[nodiscard]] bool sends_files() const noexcept override { return has_sendfile; }

    std::size_t send_file(int file, uint64_t offset, std::size_t size, std::error_code& ec) override {
        if constexpr (has_sendfile) {
            return stream_.sendfile(file, static_cast<int64_t>(offset), size, ec);
        } else {
            ec = std::make_error_code(std::errc::operation_not_supported);
            return 0;
        }
    }

    void shutdown_send(std::error_code& ec) override { stream_.shutdown_send(ec); }

    void close() noexcept override { stream_.close(); }

    void set_read_deadline(time_point when) override { stream_.set_read_deadline(when); }

    void set_write_deadline(time_point when) override { stream_.set_write_deadline(when); }

    [[nodiscard]] bool is_secure() const noexcept override { return has_handshake; }

    [[nodiscard]] std::string protocol() const override {
        if constexpr (requires { stream_.protocol(); }) {
            return stream_.protocol();
        } else {
            return {};
        }
    }

private:
    static constexpr bool has_handshake = requires(Stream& s, std::error_code& ec) { s.handshake(ec); };
    static constexpr bool has_sendfile =
        requires(Stream& s, std::error_code& ec) { s.sendfile(0, int64_t{0}, std::size_t{0}, ec); };

    Stream stream_;
};

// The address of the peer of a stream that was just accepted; "-" if it has none.
template <typename Stream>
[[nodiscard]] std::string peer_of(const Stream& s) {
    if constexpr (requires { s.remote_endpoint(); }) {
        try {
            return s.remote_endpoint().to_string();
        } catch (const std::system_error&) {
            return "-";  // the client has gone
        }
    } else {
        return "-";
    }
}

// A connection, and the address of its peer.
struct accepted {
    std::unique_ptr<transport> client;  // nullptr: wrap has thrown
    std::string peer;
    std::string why = {};  // what wrap has thrown
};

// A listener, of any kind.
class acceptor {
public:
    acceptor() = default;
    acceptor(const acceptor&) = delete;
    acceptor& operator=(const acceptor&) = delete;

    [[nodiscard]] virtual accepted accept(std::error_code& ec) = 0;
    virtual void close() noexcept = 0;

protected:
    ~acceptor() = default;
};

template <typename Listener, typename Wrap>
class acceptor_of final : public acceptor {
public:
    acceptor_of(Listener& listener, Wrap& wrap) noexcept : listener_(listener), wrap_(wrap) {}

    [[nodiscard]] accepted accept(std::error_code& ec) override {
        auto stream = listener_.accept(ec);
        if (ec) return {};
        std::string peer = peer_of(stream);
        using wrapped = decltype(wrap_(std::move(stream)));
        try {
            return {std::make_unique<transport_of<wrapped>>(wrap_(std::move(stream))), std::move(peer), {}};
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const std::exception& e) {
            return {nullptr, std::move(peer), e.what()};
        }
    }

    void close() noexcept override { listener_.close(); }

private:
    Listener& listener_;
    Wrap& wrap_;
};

}  // namespace weft::http::detail
