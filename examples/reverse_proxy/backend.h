// backend.h: one server behind the proxy: whether it is well, how much it has to do, and the connections to it that are kept for the next request.
//
//             fall failures, one after the other
//        ┌────────────────────────────────────────┐
//        │                                        ▼
//       up                                      down      gets no requests; the health check goes on
//        ▲                                        │
//        └────────────────────────────────────────┘
//             rise successes, one after the other
//
// What counts is whether it can be connected to, by health checks and by requests, and what it answers to health checks. A request that it answers badly says
// something about the request.
//
// Who: any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/mutex.h>
#include <weft/net/tcp.h>

#include "options.h"

namespace reverse_proxy {

class backend {
public:
    backend(std::string address, const limits& allowed, const checks& health)
        : address_(std::move(address)), allowed_(allowed), health_(health) {}

    [[nodiscard]] const std::string& address() const noexcept { return address_; }

    // ---- Health.

    [[nodiscard]] bool is_up() const noexcept { return is_up_; }

    void has_failed(std::string_view why);
    void is_well();

    // ---- Load: how many requests or connections it is busy with.

    [[nodiscard]] std::size_t load() const noexcept { return load_; }

    void add_load() noexcept { ++load_; }

    void remove_load() noexcept { --load_; }

    // ---- Connections.

    // A new one, within connect_time. An error counts as a failure.
    [[nodiscard]] weft::net::tcp_stream connect(std::error_code& ec);

    // One that was kept, and that the back end has not closed meanwhile, as far as can be seen. The one used last, so that those that are not needed
    // grow old.
    [[nodiscard]] std::optional<weft::net::tcp_stream> take_kept();

    // Keeps it for the next request, or closes it: if there are enough of them, or the back end is down.
    void keep(weft::net::tcp_stream s);

    // Closes those that were not used for keep_time.
    void drop_old();

private:
    struct kept {
        weft::net::tcp_stream stream;
        std::chrono::steady_clock::time_point since;
    };

    const std::string address_;
    const limits& allowed_;
    const checks& health_;
    std::atomic<bool> is_up_ = true;
    std::atomic<std::size_t> load_ = 0;

    weft::mutex lock_;
    std::size_t in_a_row_ =
        0;  // guarded by lock_, as the next one: reports that speak against is_up_, one after the other
    std::deque<kept> kept_;  // the one used last is at the end
};

}  // namespace reverse_proxy
