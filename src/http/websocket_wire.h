// websocket_wire.h: a client's connection with one reader and many writers, as the layer below
// Boost.Beast's WebSocket stream.
//
// Problem. A websocket::stream of Beast may be used by one thread only. But one green thread always
// reads, and others write, and reading also writes: replies to pings, close frames, and protocol
// errors.
//
// Rejected: a lock around Beast's stream. A reader that waits would hold it.
//
// Protocol.
//   1. Beast owns the stream and reads. What it writes are whole frames, in one call each.
//   2. Messages, pings, and close frames of this side bypass Beast as whole frames, through this
//      class. Each frame is written under a lock.
//   3. The reader also keeps the time. Its read of the socket has a deadline, that of the next
//      thing to do: to send a ping, to give up on the peer, to give up on a message. Only if it
//      gives up does Beast see an error, after which its stream cannot be used. Once a close frame
//      is sent, only the time for the peer's close frame counts: the other times may have passed
//      long ago, and a deadline in the past would end each read before it looks at the socket.
//   4. drain() and begin_close() move the deadline of that read. The reader moves the deadline, too;
//      so it looks at what they have set after that, and not only before. Writers do the same with
//      the deadline of their writes.
//   5. The time for a message begins when its first byte is read, not when Beast returns a part of
//      it: Beast returns nothing for empty frames. So the wire follows the frames (frame_tracker).
//
// Invariants: I1. After a close frame nothing else is sent, not even a second close frame.
//             I2. After an error of a write the connection is closed: a frame may be incomplete.
//
// Ordering: R1 (drain, begin_close) pairs with A1 (the reader or a writer, after it has moved its
// deadline). All are seq_cst: each side writes its own word, and then acts on the other's.
//
// Threads: read_some, teardown: the reader. drain, begin_close, send: any.
#pragma once

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include <weft/http/websocket.h>
#include <weft/mutex.h>
#include <weft/net/buffer.h>

#include "http/upgrade.h"
#include "http/websocket_frame.h"

namespace weft::http::detail {

class websocket_wire final : public drain_hook {
public:
    using executor_type = boost::asio::io_context::executor_type;
    using lowest_layer_type = websocket_wire;
    using clock = std::chrono::steady_clock;

    websocket_wire(upgraded below, const websocket_options& how)
        : client_(below.client), pending_(below.pending), how_(how), heard_(clock::now()) {}

    ~websocket_wire() = default;

    // ---- The stream interface that Beast needs.

    // For timers that synchronous calls never start: that of an io_context that no thread runs. It
    // costs no thread, and three file descriptors in a process that has a WebSocket.
    [[nodiscard]] static executor_type get_executor();

    [[nodiscard]] lowest_layer_type& lowest_layer() noexcept { return *this; }

    template <typename MutableBufferSequence>
    std::size_t read_some(const MutableBufferSequence& into, boost::system::error_code& ec) {
        ec = {};
        const boost::asio::mutable_buffer first = first_of<boost::asio::mutable_buffer>(into);
        const std::size_t n = first.size() == 0 ? 0 : read_bytes({first.data(), first.size()});
        if (n == 0 && first.size() != 0) ec = boost::asio::error::operation_aborted;  // why_ says why
        return n;
    }

    template <typename MutableBufferSequence>
    std::size_t read_some(const MutableBufferSequence& into) {
        boost::system::error_code ec;
        const std::size_t n = read_some(into, ec);
        if (ec) throw boost::system::system_error(ec, "read_some");
        return n;
    }

    // Writes all of it.
    template <typename ConstBufferSequence>
    std::size_t write_some(const ConstBufferSequence& from, boost::system::error_code& ec) {
        std::vector<net::const_buffer> pieces;
        for (auto at = boost::asio::buffer_sequence_begin(from); at != boost::asio::buffer_sequence_end(from); ++at) {
            const boost::asio::const_buffer one(*at);
            if (one.size() != 0) pieces.emplace_back(one.data(), one.size());
        }
        ec = {};
        if (!write_for_beast(pieces)) ec = boost::asio::error::operation_aborted;
        return ec ? 0 : boost::asio::buffer_size(from);
    }

    template <typename ConstBufferSequence>
    std::size_t write_some(const ConstBufferSequence& from) {
        boost::system::error_code ec;
        const std::size_t n = write_some(from, ec);
        if (ec) throw boost::system::system_error(ec, "write_some");
        return n;
    }

    friend void teardown(boost::beast::role_type /*role*/, websocket_wire& w, boost::system::error_code& ec) {
        ec = {};
        w.end_connection();
    }

    friend void beast_close_socket(websocket_wire& w) { w.client_.close(); }

    // ---- For the two sides.

    // After the handshake: from now on all data are frames.
    void begin_frames();

    // Sends a message, or a ping. Returns false if the connection is broken, or a close frame was
    // sent.
    [[nodiscard]] bool send(opcode what, std::string_view payload, bool is_compressed);

    // Sends a close frame, if none was sent. The reader then waits for the peer's, for at most
    // close_time.
    void begin_close(uint16_t code, std::string_view reason);

    // The peer has violated the protocol in a way that Beast does not notice: sends a close frame,
    // and ends the connection. The reader.
    void fail(uint16_t code, std::string_view reason);

    // The peer has gone, or is taken for gone: closes the connection, so writers fail.
    void abandon() noexcept;

    void drain() noexcept override;

    [[nodiscard]] bool is_closing() const noexcept { return close_by_.load() != never; }

    // The reader waits for a message now. The time in which it did not read does not count.
    void expect_message() noexcept { limit_message(); }

    // Why read_some() has failed; nullptr: the peer has closed the connection, or it is broken.
    [[nodiscard]] const char* why() const noexcept { return why_; }

    // Whether an interruption of the caller, or its deadline, ended a read or a write.
    [[nodiscard]] bool was_interrupted() const noexcept { return was_interrupted_.load(); }

private:
    using ticks = clock::rep;

    static constexpr ticks never = clock::time_point::max().time_since_epoch().count();

    template <typename Buffer, typename Sequence>
    static Buffer first_of(const Sequence& from) {
        for (auto at = boost::asio::buffer_sequence_begin(from); at != boost::asio::buffer_sequence_end(from); ++at) {
            const Buffer one(*at);
            if (one.size() != 0) return one;
        }
        return {};
    }

    [[nodiscard]] static clock::time_point later_than_now(std::chrono::nanoseconds by) noexcept;

    [[nodiscard]] clock::time_point close_by() const noexcept {
        return clock::time_point(clock::duration(close_by_.load()));
    }

    void limit_message() noexcept {
        message_by_ = frames_.is_between_messages() ? clock::time_point::max() : later_than_now(how_.message_time);
    }

    void note_bytes(net::mutable_buffer read);
    [[nodiscard]] std::size_t read_bytes(net::mutable_buffer into);
    void limit_read();
    [[nodiscard]] bool act_on_timeout();
    [[nodiscard]] bool write_for_beast(std::span<const net::const_buffer> pieces);
    [[nodiscard]] bool write_locked(std::span<const net::const_buffer> pieces);
    void end_connection();

    transport& client_;
    input& pending_;
    const websocket_options& how_;

    // The reader only.
    clock::time_point heard_;
    clock::time_point message_by_ = clock::time_point::max();
    frame_tracker frames_;
    bool has_pinged_ = false;  // since heard_
    const char* why_ = nullptr;

    // Atomic.
    std::atomic<bool> is_draining_ = false;
    std::atomic<ticks> close_by_ = never;  // when the connection must have ended
    std::atomic<bool> was_interrupted_ = false;

    weft::mutex writing_;
    // Guarded by writing_.
    bool sends_frames_ = false;
    bool has_closed_ = false;
    bool is_broken_ = false;
};

}  // namespace weft::http::detail
