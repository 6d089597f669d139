// wire.h: a client's connection, to which two write: Beast, and whoever sends messages.
//
// A websocket::stream of Beast's is for one green thread. Here one reads, always, and another one writes what the others say, and neither may hold up the
// other; but reading writes, too: the answer to a ping, to a goodbye, to a mistake. So Beast has the stream and reads, and messages go past it, as frames
// that are ready (frame.h), through the layer below: this one. A frame is written as a whole, by whomever, under a lock.
//
// Invariant: I1. After a close frame nothing is sent any more, whoever has sent it; a second one is not sent either.
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

    // ---- What Beast wants of a stream.

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

    // Of frames: always whole ones.
    template <typename ConstBufferSequence>
    std::size_t write_some(const ConstBufferSequence& from, boost::system::error_code& ec) {
        const std::lock_guard<weft::mutex> locked(writing_);
        if (sends_frames_) {
            if (is_closed_) return boost::asio::buffer_size(from);  // I1
            is_closed_ = begins_close_frame(first_byte(from));
        }
        socket().set_write_deadline(std::chrono::steady_clock::now() + allowed_.write_time);
        return below_.write_some(from, ec);
    }

    template <typename ConstBufferSequence>
    std::size_t write_some(const ConstBufferSequence& from) {
        boost::system::error_code ec;
        const std::size_t n = write_some(from, ec);
        if (ec) throw boost::system::system_error(ec, "write_some");
        return n;
    }

    // At the end of a WebSocket. However much the other side goes on sending, it is over soon.
    friend void teardown(boost::beast::role_type role, wire& w, boost::system::error_code& ec) {
        w.socket().set_read_deadline(std::chrono::steady_clock::now() + w.allowed_.close_time);
        teardown(role, w.below_, ec);
    }

    friend void beast_close_socket(wire& w) { w.socket().close(); }

    // ---- For who sends messages.

    // The handshake is over: from now on there are only frames.
    void begin_frames();

    // Sends them in one go. False: there is nobody any more to send them to, or nothing may be sent.
    [[nodiscard]] bool send(std::span<const frame> frames);

    // Says goodbye, if nobody has. The other side has close_time for its part of it. Any thread. Before begin_frames(): just closes.
    void say_goodbye(uint16_t code, std::string_view why);

    [[nodiscard]] bool is_closing() const noexcept { return end_by_ != never; }

    // For who reads. After a goodbye its deadline counts, if it is earlier.
    void set_read_deadline(std::chrono::steady_clock::time_point when);

    // When something has come from the other side.
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

    below below_;
    const limits& allowed_;
    std::atomic<std::chrono::steady_clock::rep> heard_;
    std::atomic<std::chrono::steady_clock::rep> end_by_ =
        never;  // we have said goodbye, or are about to: until then it takes

    weft::mutex writing_;
    bool sends_frames_ = false;  // guarded by writing_, as the next one
    bool is_closed_ = false;
};

}  // namespace websocket_chat
