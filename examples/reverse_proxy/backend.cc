#include "backend.h"

#include <cstdio>
#include <mutex>
#include <utility>

#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/net/resolve.h>
#include <weft/wait_fd.h>

namespace reverse_proxy {

using guard = std::lock_guard<weft::mutex>;
using std::chrono::steady_clock;
using weft::net::tcp_stream;

void backend::has_failed(std::string_view why) {
    std::deque<kept> closed;  // destroyed after the lock is released
    const guard locked(lock_);
    if (!is_up_) {
        in_a_row_ = 0;
    } else if (++in_a_row_ >= health_.fall) {
        in_a_row_ = 0;
        is_up_ = false;
        closed.swap(kept_);
        std::fprintf(stderr, "reverse_proxy: %s is down: %.*s\n", address_.c_str(), static_cast<int>(why.size()),
                     why.data());
    }
}

void backend::is_well() {
    const guard locked(lock_);
    if (is_up_) {
        in_a_row_ = 0;
    } else if (++in_a_row_ >= health_.rise) {
        in_a_row_ = 0;
        is_up_ = true;
        std::fprintf(stderr, "reverse_proxy: %s is up\n", address_.c_str());
    }
}

tcp_stream backend::connect(std::error_code& ec) {
    tcp_stream s;
    try {
        s = weft::with_timeout(allowed_.connect_time, [&] { return weft::net::dial(address_, ec); });
    } catch (const weft::timed_out&) {
        ec = weft::errc::timed_out;
    }
    if (ec) has_failed(ec == weft::errc::timed_out ? "it does not answer" : ec.message());
    return s;
}

std::optional<tcp_stream> backend::take_kept() {
    for (;;) {
        std::optional<tcp_stream> s;
        {
            const guard locked(lock_);
            if (kept_.empty()) return std::nullopt;
            s = std::move(kept_.back().stream);
            kept_.pop_back();
        }
        // No answer is expected: if the socket is readable, that is the end of the connection or an
        // unexpected answer.
        const bool is_silent = weft::wait_fd_for(s->native_handle(), weft::fd_events::readable,
                                                 std::chrono::seconds(0)) == weft::fd_events::none;
        if (is_silent) return s;
    }
}

void backend::keep(tcp_stream s) {
    const guard locked(lock_);
    if (is_up_ && kept_.size() < allowed_.kept) kept_.push_back({std::move(s), steady_clock::now()});
}

void backend::drop_old() {
    const guard locked(lock_);
    const auto limit = steady_clock::now() - allowed_.keep_time;
    while (!kept_.empty() && kept_.front().since < limit) kept_.pop_front();
}

}  // namespace reverse_proxy
