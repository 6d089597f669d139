// stream.h: weft's sockets for the synchronous calls of Boost.Asio and Boost.Beast.
//
//   weft::asio::stream connection(listener.accept());                  // or a tls::stream
//   boost::beast::http::read(connection, buffer, request);             // waits as a green thread does
//   boost::beast::websocket::stream<weft::asio::stream<weft::net::tcp_stream>> ws(std::move(connection));
//
// Works with anything that takes a SyncReadStream and a SyncWriteStream: boost::asio::read, write
// and read_until, Beast's HTTP, and WebSocket over it. The calls are those of the stream below,
// including deadlines, cancellation and close(), which next_layer() provides. For asynchronous
// calls see use_weft.h.
//
// WebSocket streams require an executor of the layer below, for timers that synchronous calls never
// start. It is that of an io_context that no thread runs. It costs no thread, and three file
// descriptors in a process that asks for it.
//
// Rejected: The executor of executor.h. Asio would start a thread for its timers.
//
// Threads: as the stream below. See: docs/asio.md
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <concepts>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>

#include <weft/asio/error.h>
#include <weft/cancel.h>
#include <weft/detail/require.h>
#include <weft/error.h>
#include <weft/net/buffer.h>

namespace boost::beast {
enum class role_type;  // as in <boost/beast/core/role.hpp>
}  // namespace boost::beast

namespace weft::asio {

namespace detail {

// Up to 16 non-empty buffers from the beginning of one of Asio's buffer sequences.
template <typename Buffer>
class pieces {
public:
    static constexpr std::size_t most = 16;

    template <typename Sequence>
    explicit pieces(const Sequence& from) {
        const auto end = boost::asio::buffer_sequence_end(from);
        for (auto at = boost::asio::buffer_sequence_begin(from); at != end && count_ < most; ++at) add(*at);
    }

    [[nodiscard]] std::span<const Buffer> all() const noexcept { return {all_.data(), count_}; }

private:
    void add(const boost::asio::mutable_buffer& b) {
        if (b.size() != 0) all_[count_++] = Buffer(b.data(), b.size());
    }

    void add(const boost::asio::const_buffer& b)
        requires std::same_as<Buffer, net::const_buffer>
    {
        if (b.size() != 0) all_[count_++] = Buffer(b.data(), b.size());
    }

    template <std::size_t... I>
    static std::array<Buffer, most> empty(std::index_sequence<I...> /*unused*/) {
        return {((void)I, Buffer(nullptr, 0))...};
    }

    std::array<Buffer, most> all_ = empty(std::make_index_sequence<most>());
    std::size_t count_ = 0;
};

inline boost::asio::io_context::executor_type never_run() {
    // Never destroyed: streams with static storage may refer to it until the end of the process.
    static boost::asio::io_context& nobodys = *new boost::asio::io_context(1);
    return nobodys.get_executor();
}

}  // namespace detail

/// Stream: net::tcp_stream, another net::stream, or tls::stream.
template <typename Stream>
class stream {
public:
    using next_layer_type = Stream;
    using lowest_layer_type = stream;
    using executor_type = boost::asio::io_context::executor_type;

    stream() = default;

    explicit stream(Stream below) : below_(std::move(below)) {}

    /// The stream below: to set deadlines, to close it.
    [[nodiscard]] Stream& next_layer() noexcept { return below_; }

    [[nodiscard]] const Stream& next_layer() const noexcept { return below_; }

    [[nodiscard]] lowest_layer_type& lowest_layer() noexcept { return *this; }

    [[nodiscard]] const lowest_layer_type& lowest_layer() const noexcept { return *this; }

    [[nodiscard]] executor_type get_executor() const { return detail::never_run(); }

    /// Reads what is available, at least a byte unless into has no room. The end is
    /// boost::asio::error::eof. The form without ec throws boost::system::system_error, or
    /// weft::cancelled or weft::timed_out if the caller is interrupted.
    template <typename MutableBufferSequence>
    std::size_t read_some(const MutableBufferSequence& into, boost::system::error_code& ec) {
        const detail::pieces<net::mutable_buffer> pieces(into);
        ec.clear();
        if (pieces.all().empty()) return 0;
        std::error_code why;
        std::size_t n = 0;
        if constexpr (requires { below_.readv_some(pieces.all(), why); }) {
            n = below_.readv_some(pieces.all(), why);
        } else {
            n = below_.read_some(pieces.all().front(), why);
        }
        ec = to_boost(why);
        if (!ec && n == 0) ec = boost::asio::error::eof;
        return n;
    }

    template <typename MutableBufferSequence>
    std::size_t read_some(const MutableBufferSequence& into) {
        boost::system::error_code ec;
        const std::size_t n = read_some(into, ec);
        if (ec) fail(ec, "read_some");
        return n;
    }

    /// Writes the first 16 non-empty pieces of from.
    template <typename ConstBufferSequence>
    std::size_t write_some(const ConstBufferSequence& from, boost::system::error_code& ec) {
        const detail::pieces<net::const_buffer> pieces(from);
        std::error_code why;
        const std::size_t n = below_.writev_all(pieces.all(), why);
        ec = to_boost(why);
        return n;
    }

    template <typename ConstBufferSequence>
    std::size_t write_some(const ConstBufferSequence& from) {
        boost::system::error_code ec;
        const std::size_t n = write_some(from, ec);
        if (ec) fail(ec, "write_some");
        return n;
    }

    /// Called by Beast at the end of a WebSocket: signals the end, reads the remaining data, and
    /// closes.
    friend void teardown(boost::beast::role_type /*role*/, stream& s, boost::system::error_code& ec) {
        std::error_code why;
        s.below_.shutdown_send(why);
        std::array<char, 512> unread;
        while (!why && s.below_.read_some(unread, why) != 0) continue;
        s.below_.close();
        ec = to_boost(why);
    }

    friend void beast_close_socket(stream& s) { s.below_.close(); }

private:
    [[noreturn]] static void fail(const boost::system::error_code& ec, const char* what) {
        if (ec == boost::asio::error::operation_aborted || ec == boost::asio::error::timed_out) throw_if_cancelled();
        throw boost::system::system_error(ec, what);
    }

    Stream below_;
};

}  // namespace weft::asio
