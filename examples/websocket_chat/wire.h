// wire.h: a client's connection with two writers: Beast, and the green thread that sends messages.
//
// A websocket::stream of Beast may be used by one green thread only. Here one green thread always
// reads and another writes messages, and neither may delay the other. But reading also writes:
// replies to pings, close frames and protocol errors. So Beast owns the stream and reads. Messages
// bypass it as complete frames (frame.h), through the layer below it, which is this class. Each
// frame is written as a whole, under a lock.
//
// Invariant: I1. After a close frame nothing else is sent, by either writer, not even a second
//                close frame.
#pragma once

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include <weft/asio/stream.h>
#include <weft/mutex.h>
#include <weft/net/tcp.h>

#include "frame.h"
#include "options.h"

namespace websocket_chat {

class wire {
public:
    using below = weft::asio::stream<weft::net::tcp_stream>;
    using executor_type = below::executor_type;
    using lowest_layer_type = wire;

    wire(weft::net::tcp_stream connection, const limits& allowed)
        : below_(std::move(connection)), allowed_(allowed), heard_(now()) {}

    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    [[nodiscard]] weft::net::tcp_stream& socket() noexcept { return below_.next_layer(); }

    // ---- The stream interface that Beast needs.

    [[nodiscard]] executor_type get_executor() const { return below_.get_executor(); }

    [[nodiscard]] lowest_layer_type& lowest_layer() noexcept { return *this; }

    template <typename MutableBufferSequence>
    std::size_t read_some(const MutableBufferSequence& into, boost::system::error_code& ec) {
        const std::size_t n = below_.read_some(into, ec);
        heard_ = now();
        return n;
    }

    template <typename MutableBufferSequence>
    std::size_t read_some(const MutableBufferSequence& into) {
        boost::system::error_code ec;
        const std::size_t n = read_some(into, ec);
        if (ec) throw boost::system::system_error(ec, "read_some");
        return n;
    }

    // Writes whole frames.
    template <typename ConstBufferSequence>
    std::size_t write_some(const ConstBufferSequence& from, boost::system::error_code& ec) {
        const std::lock_guard<weft::mutex> locked(writing_);
        if (sends_frames_) {
            if (is_closed_) return boost::asio::buffer_size(from);  // I1
            is_closed_ = begins_close_frame(first_byte(from));
        }
        limit_write();
        return below_.write_some(from, ec);
    }

    template <typename ConstBufferSequence>
    std::size_t write_some(const ConstBufferSequence& from) {
        boost::system::error_code ec;
        const std::size_t n = write_some(from, ec);
        if (ec) throw boost::system::system_error(ec, "write_some");
        return n;
    }

    // Ends a WebSocket connection. The deadline bounds it, even if the peer keeps sending.
    friend void teardown(boost::beast::role_type role, wire& w, boost::system::error_code& ec) {
        w.socket().set_read_deadline(std::chrono::steady_clock::now() + w.allowed_.close_time);
        teardown(role, w.below_, ec);
    }

    friend void beast_close_socket(wire& w) { w.socket().close(); }

    // ---- For the sender of messages.

    // Called after the handshake: from now on all data are frames.
    void begin_frames();

    // Sends the frames in one write. Returns false if the connection is broken, or if nothing may
    // be sent after a close frame.
    [[nodiscard]] bool send(std::span<const frame> frames);

    // Sends a close frame, if none was sent. The peer then has close_time to close its side. Before
    // begin_frames() this just closes the socket. Any thread.
    void say_goodbye(uint16_t code, std::string_view why);

    [[nodiscard]] bool is_closing() const noexcept { return end_by_ != never; }

    // For the reader. After say_goodbye() the earlier of the two deadlines applies.
    void set_read_deadline(std::chrono::steady_clock::time_point when);

    // When data last arrived from the peer.
    [[nodiscard]] std::chrono::steady_clock::time_point last_heard() const noexcept {
        return std::chrono::steady_clock::time_point(std::chrono::steady_clock::duration(heard_));
    }

private:
    static constexpr std::chrono::steady_clock::rep never =
        std::chrono::steady_clock::time_point::max().time_since_epoch().count();

    static std::chrono::steady_clock::rep now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

    template <typename ConstBufferSequence>
    static unsigned char first_byte(const ConstBufferSequence& from) {
        for (auto at = boost::asio::buffer_sequence_begin(from); at != boost::asio::buffer_sequence_end(from); ++at) {
            const boost::asio::const_buffer b(*at);
            if (b.size() != 0) return *static_cast<const unsigned char*>(b.data());
        }
        return 0;
    }

    // Sets the deadline of the next write. After say_goodbye() the earlier of the two applies.
    void limit_write();

    std::chrono::steady_clock::time_point end_by() const {
        return std::chrono::steady_clock::time_point(std::chrono::steady_clock::duration(end_by_));
    }

    below below_;
    const limits& allowed_;
    std::atomic<std::chrono::steady_clock::rep> heard_;
    std::atomic<std::chrono::steady_clock::rep> end_by_ =
        never;  // set by say_goodbye(): when the connection must have ended

    weft::mutex writing_;
    bool sends_frames_ = false;  // guarded by writing_, like the next one
    bool is_closed_ = false;
};

}  // namespace websocket_chat
