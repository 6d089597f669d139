// client_watch.cc: see client_watch.h.
#include "http/client_watch.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>

#include <weft/cancel.h>

namespace weft::http::detail {

namespace {

constexpr std::chrono::milliseconds watch_delay{20};
constexpr std::chrono::milliseconds longest_delay{1000};

}  // namespace

void client_watch::begin(weft::detail::cancel_context& running, bool has_body, bool is_watched) {
    has_body_.store(has_body, std::memory_order_release);  // R1
    const std::lock_guard<weft::mutex> locked(lock_);
    running_ = &running;
    is_stopped_ = false;
    ++request_;
    if (is_armed_ || !is_watched) return;
    seen_ = request_;
    delay_ = watch_delay;
    arm();
}

// Without memory for a timer this request is not watched.
void client_watch::arm() {
    try {
        if (has_timer_) {
            timer_.reset(delay_);
        } else {
            timer_ = weft::after_func(delay_, [self = weak_from_this()] {
                if (const std::shared_ptr<client_watch> watch = self.lock()) watch->on_timer();
            });
            has_timer_ = true;
        }
        is_armed_ = true;
    } catch (const std::exception&) {
        is_armed_ = false;
    }
}

void client_watch::on_timer() {
    {
        const std::lock_guard<weft::mutex> locked(lock_);
        const bool has_body = has_body_.load(std::memory_order_acquire);                           // A1
        if (running_ == nullptr || is_gone_ || is_stopped_ || (!has_body && !pending_.empty())) {  // I3
            is_armed_ = false;
            changed_.notify_all();
            return;
        }
        if (request_ != seen_ || has_body) {
            delay_ = request_ != seen_ ? watch_delay : std::min(2 * delay_, longest_delay);
            seen_ = request_;
            arm();
            if (!is_armed_) changed_.notify_all();
            return;
        }
        is_reading_ = true;
        client_.set_read_deadline(transport::time_point::max());
    }
    read_on();
}

void client_watch::read_on() {
    std::error_code ec;
    std::size_t n = 0;
    bool has_read = true;
    try {
        n = client_.read_some(pending_.room(), ec);
    } catch (const std::bad_alloc&) {
        has_read = false;
    }
    const std::lock_guard<weft::mutex> locked(lock_);
    pending_.add(n);
    is_reading_ = false;
    is_armed_ = false;
    if (has_read && n == 0 && running_ != nullptr && !is_stopped_) {
        is_gone_ = true;
        running_->cancel();
    }
    changed_.notify_all();
}

// The lock is held.
void client_watch::end_read(std::unique_lock<weft::mutex>& locked) {
    if (!is_reading_) return;
    client_.set_read_deadline(transport::time_point::min());
    weft::shield([&] { changed_.wait(locked, [this] { return !is_reading_; }); });
}

void client_watch::stop_reading() {
    std::unique_lock<weft::mutex> locked(lock_);
    is_stopped_ = true;
    end_read(locked);
}

bool client_watch::end() {
    std::unique_lock<weft::mutex> locked(lock_);
    running_ = nullptr;
    end_read(locked);
    return is_gone_;
}

void client_watch::close() {
    std::unique_lock<weft::mutex> locked(lock_);
    if (is_armed_ && timer_.stop()) is_armed_ = false;
    weft::shield([&] { changed_.wait(locked, [this] { return !is_armed_; }); });
}

void client_watch::cancel() {
    const std::lock_guard<weft::mutex> locked(lock_);
    if (running_ != nullptr) running_->cancel();
}

}  // namespace weft::http::detail
