// events.cc: see weft/http/events.h.
//
// The comments are sent by a timer. Rejected: a green thread per stream, which would keep a stack
// for a comment in 15 seconds.
//
// Invariants: I1. The response is used only under lock_, and not after close(). So the timer's
//                 green thread, which may still run then, does not use it.
#include <chrono>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>

#include <weft/http/error.h>
#include <weft/http/events.h>
#include <weft/http/request.h>
#include <weft/mutex.h>
#include <weft/timer.h>

#include "http/exchange.h"

namespace weft::http {

using clock = std::chrono::steady_clock;

namespace {

// Adds lines "NAME: LINE" for each line of the text.
void append_event_lines(std::string& to, std::string_view name, std::string_view text) {
    for (;;) {
        const std::size_t end = text.find_first_of("\r\n");
        (((to += name) += ": ") += text.substr(0, end)) += '\n';
        if (end == std::string_view::npos) return;
        text.remove_prefix(text.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
    }
}

void append_event_field(std::string& to, std::string_view name, std::string_view value) {
    if (value.empty()) return;
    if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
        throw std::invalid_argument("weft: the field " + std::string(name) +
                                    " of an event contains a line break or a NUL: remove it");
    }
    (((to += name) += ": ") += value) += '\n';
}

}  // namespace

class event_stream::state : public std::enable_shared_from_this<event_stream::state> {
public:
    state(response& w, detail::exchange& of, std::chrono::nanoseconds ping_time)
        : response_(w), exchange_(of), ping_time_(ping_time) {}

    // Once, after construction.
    void start() {
        const std::lock_guard<weft::mutex> locked(lock_);
        response_.flush();
        last_ = clock::now();
        if (ping_time_ == std::chrono::nanoseconds::max()) return;
        timer_ = weft::after_func(ping_time_, [self = weak_from_this()] {
            if (const std::shared_ptr<state> s = self.lock()) s->on_timer();
        });
        has_timer_ = true;
    }

    void send(std::string_view text) {
        const std::lock_guard<weft::mutex> locked(lock_);
        last_ = clock::now();
        response_.write(text);
        response_.flush();
    }

    void close() {
        const std::lock_guard<weft::mutex> locked(lock_);
        is_closed_ = true;
        if (has_timer_) timer_.stop();
    }

private:
    // If the comment cannot be sent, no client reads what the handler waits for.
    void on_timer() noexcept {
        const std::lock_guard<weft::mutex> locked(lock_);
        if (is_closed_) return;
        try {
            const clock::time_point now = clock::now();
            if (now - last_ >= ping_time_) {
                response_.write(":\n\n");
                response_.flush();
                last_ = clock::now();
            }
            timer_.reset(last_ + ping_time_ - now);
        } catch (...) {
            exchange_.cancel_handler();
        }
    }

    response& response_;
    detail::exchange& exchange_;
    const std::chrono::nanoseconds ping_time_;

    weft::mutex lock_;
    // Guarded by lock_.
    clock::time_point last_;
    weft::timer timer_;
    bool has_timer_ = false;
    bool is_closed_ = false;
};

event_stream::event_stream(response& w, detail::exchange& of, const event_options& how)
    : state_(std::make_shared<state>(w, of, how.ping_time)) {
    state_->start();
}

event_stream::~event_stream() { state_->close(); }

void event_stream::send(std::string_view data, const event_fields& f) {
    std::string text;
    append_event_field(text, "event", f.event);
    append_event_field(text, "id", f.id);
    if (f.retry) append_event_field(text, "retry", std::to_string(f.retry->count()));
    append_event_lines(text, "data", data);
    text += '\n';
    state_->send(text);
}

void event_stream::comment(std::string_view text) {
    std::string lines;
    append_event_lines(lines, "", text);
    lines += '\n';
    state_->send(lines);
}

event_stream response::events() { return events(event_options()); }

event_stream response::events(const event_options& how) {
    if (how.ping_time <= std::chrono::nanoseconds(0))
        throw std::invalid_argument("weft: http::event_options::ping_time must be more than 0");
    if (exchange_.is_head_request()) {
        set("Allow", "GET");
        throw failure(status::method_not_allowed, "a stream of events has no end, so only GET is allowed");
    }
    set("Content-Type", "text/event-stream");
    if (!headers().has("Cache-Control")) set("Cache-Control", "no-cache");
    set("X-Accel-Buffering", "no");  // nginx would keep the events back
    return event_stream(*this, exchange_, how);
}

}  // namespace weft::http
