// websocket_wire.cc: see websocket_wire.h.
#include "http/websocket_wire.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <weft/cancel.h>
#include <weft/error.h>

#include "http/later.h"

namespace weft::http::detail {

namespace {

constexpr std::size_t written_at_once = std::size_t{256} * 1024;  // websocket.h: write_time
constexpr std::chrono::nanoseconds linger_time = std::chrono::seconds(1);
constexpr std::size_t skipped_at_end = std::size_t{1} << 20;

bool caller_is_interrupted() {
    try {
        throw_if_cancelled();
    } catch (const weft::cancelled&) {
        return true;
    } catch (const weft::timed_out&) {
        return true;
    }
    return false;
}

}  // namespace

websocket_wire::executor_type websocket_wire::get_executor() {
    static boost::asio::io_context never_run;
    return never_run.get_executor();
}

websocket_wire::clock::time_point websocket_wire::later_than_now(std::chrono::nanoseconds by) noexcept {
    return later(clock::now(), by);
}

// Sets the deadline of the next read: that of whatever comes first. is_draining_ and close_by_ may
// be set at any time, and that moves the deadline, too (A1).
void websocket_wire::limit_read() {
    if (!is_closing()) client_.set_read_deadline(std::min(message_by_, later(heard_, how_.ping_time)));
    if (is_closing()) client_.set_read_deadline(close_by());
    if (is_draining_.load() && !is_closing()) client_.set_read_deadline(clock::time_point::min());
}

// The read has reached its deadline. Returns whether to read on.
bool websocket_wire::act_on_timeout() {
    const clock::time_point now = clock::now();
    if (is_draining_.load() && !is_closing()) {
        begin_close(close_code::going_away, "the server is shutting down");
        return true;
    }
    if (is_closing()) {
        why_ = "the peer did not close in time";
        return now < close_by();
    }
    if (now >= message_by_) {
        why_ = "the message did not arrive in time";
        fail(close_code::policy_error, why_);
        return false;
    }
    if (now < later(heard_, how_.ping_time)) return true;
    why_ = "the peer is silent";
    if (has_pinged_) return false;
    heard_ = now;
    has_pinged_ = true;
    return send(opcode::ping, {}, false);
}

// A message that has begun gets its time once, however many bytes follow.
void websocket_wire::note_bytes(net::mutable_buffer read) {
    frames_.add({static_cast<const char*>(read.data()), read.size()});
    if (frames_.is_between_messages() || message_by_ == clock::time_point::max()) limit_message();
}

// Returns 0 at the end of the connection.
std::size_t websocket_wire::read_bytes(net::mutable_buffer into) {
    if (!pending_.empty()) {
        const std::size_t n = std::min(into.size(), pending_.size());
        std::memcpy(into.data(), pending_.text().data(), n);
        pending_.consume(n);
        note_bytes({into.data(), n});
        return n;
    }
    for (;;) {
        limit_read();
        std::error_code ec;
        const std::size_t n = client_.read_some(into, ec);
        if (n != 0) {
            heard_ = clock::now();
            has_pinged_ = false;
            why_ = nullptr;
            note_bytes({into.data(), n});
            return n;
        }
        if (ec == weft::errc::cancelled || ec == weft::errc::timed_out) {
            if (caller_is_interrupted()) {
                was_interrupted_ = true;
                return 0;
            }
            if (ec == weft::errc::timed_out && act_on_timeout()) continue;
            return 0;
        }
        why_ = nullptr;
        return 0;
    }
}

void websocket_wire::begin_frames() {
    const std::lock_guard<weft::mutex> locked(writing_);
    sends_frames_ = true;
}

bool websocket_wire::write_for_beast(std::span<const net::const_buffer> pieces) {
    const std::lock_guard<weft::mutex> locked(writing_);
    if (sends_frames_ && !pieces.empty()) {
        if (has_closed_) return true;  // I1
        has_closed_ = begins_close_frame(*static_cast<const unsigned char*>(pieces.front().data()));
    }
    return write_locked(pieces);
}

bool websocket_wire::write_locked(std::span<const net::const_buffer> pieces) {
    std::error_code ec;
    std::vector<net::const_buffer> batch;
    std::size_t bytes = 0;
    const auto flush = [&] {
        const clock::time_point by = later_than_now(how_.write_time);
        client_.set_write_deadline(std::min(by, close_by()));
        if (close_by() < by) client_.set_write_deadline(close_by());  // A1
        client_.writev_all(batch, ec);
        batch.clear();
        bytes = 0;
    };
    for (net::const_buffer piece : pieces) {
        const auto* data = static_cast<const char*>(piece.data());
        for (std::size_t left = piece.size(); left != 0 && !ec && !is_broken_;) {
            const std::size_t n = std::min(left, written_at_once - bytes);
            batch.emplace_back(data, n);
            data += n;
            left -= n;
            bytes += n;
            if (bytes == written_at_once) flush();
        }
    }
    if (!batch.empty() && !ec && !is_broken_) flush();
    if (ec) {
        is_broken_ = true;  // I2
        if (caller_is_interrupted()) was_interrupted_ = true;
        client_.close();
    }
    return !is_broken_;
}

bool websocket_wire::send(opcode what, std::string_view payload, bool is_compressed) {
    const frame_head head(what, payload.size(), is_compressed);
    const std::array<net::const_buffer, 2> pieces{net::const_buffer(head.bytes()), net::const_buffer(payload)};
    const std::lock_guard<weft::mutex> locked(writing_);
    if (has_closed_) return false;  // I1
    return write_locked(pieces);
}

void websocket_wire::begin_close(uint16_t code, std::string_view reason) {
    const std::string payload = close_payload(code, reason);
    const clock::time_point by = later_than_now(how_.close_time);
    ticks none = never;
    if (close_by_.compare_exchange_strong(none, by.time_since_epoch().count())) {  // R1
        client_.set_read_deadline(by);
        client_.set_write_deadline(by);  // also for a writer that holds the lock now
    }
    const frame_head head(opcode::close, payload.size());
    const std::array<net::const_buffer, 2> pieces{net::const_buffer(head.bytes()), net::const_buffer(payload)};
    const std::lock_guard<weft::mutex> locked(writing_);
    if (has_closed_) return;  // I1
    has_closed_ = true;
    static_cast<void>(write_locked(pieces));
}

void websocket_wire::fail(uint16_t code, std::string_view reason) {
    begin_close(code, reason);
    end_connection();
}

void websocket_wire::abandon() noexcept {
    if (is_closing()) return;  // it has had a close frame, and may still read that
    client_.close();
    const std::lock_guard<weft::mutex> locked(writing_);
    is_broken_ = true;
}

void websocket_wire::drain() noexcept {
    is_draining_ = true;  // R1
    if (!is_closing()) client_.set_read_deadline(clock::time_point::min());
}

// Beast has read the peer's close frame, or has sent one because of an error. If the socket were
// closed while the peer still sends, the kernel would reset the connection, and the peer might
// never see the close frame.
void websocket_wire::end_connection() {
    const clock::time_point by = std::min(later_than_now(std::min(how_.close_time, linger_time)), close_by());
    std::error_code ec;
    client_.set_write_deadline(by);
    client_.shutdown_send(ec);
    client_.set_read_deadline(by);
    std::array<char, 4096> unread;
    for (std::size_t all = 0; all < skipped_at_end && !ec;) {
        const std::size_t n = client_.read_some(unread, ec);
        if (n == 0) break;
        all += n;
    }
}

}  // namespace weft::http::detail
