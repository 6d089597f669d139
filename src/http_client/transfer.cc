// transfer.cc: see transfer.h.
#include "http_client/transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "http/text.h"
#include "http_client/status_line.h"

namespace weft::http::detail {

using guard = std::lock_guard<weft::mutex>;

void transfer::on_status_line(std::string_view line) {
    // A reply may have several headers: 100 Continue, then the final one.
    fields.clear();
    const status_line first = parsed_status_line(line);
    status = first.status;
    version = first.version;
}

void transfer::on_field(std::string_view line) {
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    const guard held(lock);
    ++events_;
    if (is_head_complete) return;  // a trailer
    if (line.starts_with("HTTP/")) {
        on_status_line(line);
    } else if (line.empty()) {
        if (status < 200) return;
        is_head_complete = true;
        changed_.notify_all();
    } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
        const std::string_view name = line.substr(0, colon);
        const std::string_view value = trimmed(line.substr(colon + 1));
        if (is_token(name) && is_value(value)) fields.add(name, value);
    }
}

bool transfer::on_body(std::string_view piece) {
    const guard held(lock);
    ++events_;
    if (is_discarding) return true;
    if (available() >= buffer_size_) {
        is_receiving_paused_ = true;
        return false;
    }
    if (input_at_ != 0) {
        input_.erase(0, input_at_);
        input_at_ = 0;
    }
    input_.append(piece);
    changed_.notify_all();
    return true;
}

std::size_t transfer::on_upload(char* to, std::size_t room) {
    const guard held(lock);
    ++events_;
    const std::size_t count = std::min(room, output_.size() - output_at_);
    if (count == 0 && is_output_ended) return 0;
    if (count == 0) {
        is_sending_paused_ = true;
        changed_.notify_all();
        return CURL_READFUNC_PAUSE;
    }
    std::memcpy(to, output_.data() + output_at_, count);
    output_at_ += count;
    return count;
}

void transfer::on_connected() {
    const guard held(lock);
    is_connected_ = true;
    ++events_;
    changed_.notify_all();  // the limit of its wait is another one now
}

void transfer::on_progress(uint64_t bytes) {
    const guard held(lock);
    if (bytes == bytes_) return;
    bytes_ = bytes;
    ++events_;
}

void transfer::will_resume() {
    const guard held(lock);
    is_receiving_paused_ = false;
    is_sending_paused_ = false;
}

void transfer::finish(std::error_code why, std::string their_words) noexcept {
    const guard held(lock);
    if (is_done) return;
    is_done = true;
    error = why;
    words = std::move(their_words);
    if (!why && !is_head_complete) {  // libcurl takes the end of the connection for the end of the header
        error = client_errc::connection_lost;
        words = "the header is incomplete";
    }
    changed_.notify_all();
}

std::size_t transfer::take(void* to, std::size_t room, bool& must_resume) {
    const std::size_t count = std::min(room, available());
    std::memcpy(to, input_.data() + input_at_, count);
    input_at_ += count;
    must_resume = is_receiving_paused_ && available() <= buffer_size_ / 2;
    return count;
}

void transfer::give(std::string_view part) {
    output_.assign(part);
    output_at_ = 0;
    is_output_ended = part.empty();
    is_sending_paused_ = false;
}

int64_t transfer::limit_of(const wait_limits& limits, int64_t idle_since_ns) const noexcept {
    if (!is_connected_ || limits.idle_ns >= weft::detail::never - idle_since_ns) return limits.deadline_ns;
    return std::min(limits.deadline_ns, idle_since_ns + limits.idle_ns);
}

}  // namespace weft::http::detail
