// backend.h: one server behind the proxy: its health, its load, and connections that are kept for
// later requests.
//
//             fall failures in a row
//        ┌────────────────────────────────────────┐
//        │                                        ▼
//       up                                      down      gets no requests; health checks continue
//        ▲                                        │
//        └────────────────────────────────────────┘
//             rise successes in a row
//
// Two things count as success or failure: connecting, by health checks and by requests, and the
// answers to health checks. A bad answer to a request does not count: it may be the fault of the
// request.
//
// Threads: any thread.
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

    // ---- Load: the number of its current requests or connections.

    [[nodiscard]] std::size_t load() const noexcept { return load_; }

    void add_load() noexcept { ++load_; }

    void remove_load() noexcept { --load_; }

    // ---- Connections.

    // Makes a connection, within connect_time. An error counts as a failure.
    [[nodiscard]] weft::net::tcp_stream connect(std::error_code& ec);

    // Returns a kept connection that the back end has not closed, as far as that can be seen.
    // Prefers the most recently used one, so that surplus ones grow old.
    [[nodiscard]] std::optional<weft::net::tcp_stream> take_kept();

    // Keeps s for a later request, or closes it if enough are kept or the back end is down.
    void keep(weft::net::tcp_stream s);

    // Closes those that were unused for keep_time.
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
    std::size_t in_a_row_ = 0;  // reports in a row that contradict is_up_; guarded by lock_, like the next one
    std::deque<kept> kept_;     // the most recently used is last
};

}  // namespace reverse_proxy
