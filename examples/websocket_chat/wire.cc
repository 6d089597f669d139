#include "wire.h"

#include <algorithm>
#include <system_error>
#include <vector>

namespace websocket_chat {

void wire::begin_frames() {
    const std::lock_guard<weft::mutex> locked(writing_);
    sends_frames_ = true;
}

bool wire::send(std::span<const frame> frames) {
    const std::lock_guard<weft::mutex> locked(writing_);
    if (is_closed_) return false;  // I1
    std::vector<weft::net::const_buffer> pieces;
    pieces.reserve(frames.size());
    for (const frame& f : frames) pieces.emplace_back(*f);
    limit_write();
    std::error_code ec;
    socket().writev_all(pieces, ec);
    return !ec;
}

void wire::say_goodbye(uint16_t code, std::string_view why) {
    const frame goodbye = close_frame(code, why);
    const auto soon = std::chrono::steady_clock::now() + allowed_.close_time;
    end_by_ = soon.time_since_epoch().count();
    socket().set_deadline(soon);  // also for a sender that holds the lock now
    const std::lock_guard<weft::mutex> locked(writing_);
    if (!sends_frames_) socket().close();
    if (is_closed_) return;
    is_closed_ = true;
    std::error_code ec;
    socket().set_write_deadline(soon);
    socket().write_all(*goodbye, ec);
    if (ec) socket().close();
}

void wire::set_read_deadline(std::chrono::steady_clock::time_point when) {
    socket().set_read_deadline(std::min(when, end_by()));
    if (end_by() < when) socket().set_read_deadline(end_by());  // say_goodbye() may have set end_by_ just now
}

void wire::limit_write() {
    const auto when = std::chrono::steady_clock::now() + allowed_.write_time;
    socket().set_write_deadline(std::min(when, end_by()));
    if (end_by() < when) socket().set_write_deadline(end_by());  // as above
}

}  // namespace websocket_chat
