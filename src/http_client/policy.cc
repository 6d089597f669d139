// policy.cc: see policy.h.
#include "http_client/policy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <ctime>

#include <weft/detail/time_point.h>

#include "http_client/curl.h"

namespace weft::http::detail {

bool is_redirect(unsigned status) noexcept {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool keeps_method(unsigned status, std::string_view method) noexcept {
    return status == 307 || status == 308 || method == "GET" || method == "HEAD";
}

bool is_idempotent(std::string_view method) noexcept {
    constexpr std::array<std::string_view, 6> those = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};
    return std::find(those.begin(), those.end(), method) != those.end();
}

bool is_temporary(std::error_code e) noexcept {
    return e == client_errc::could_not_connect || e == client_errc::connect_timed_out ||
           e == client_errc::connection_lost || e == client_errc::could_not_resolve;
}

bool is_temporary(unsigned status) noexcept { return status == 429 || status == 502 || status == 503 || status == 504; }

std::optional<std::chrono::nanoseconds> retry_after(std::string_view value) {
    constexpr int64_t most = 365 * 24 * 3600;
    int64_t seconds = 0;
    const std::string text(value);
    const char* const end = text.c_str() + text.size();
    const auto [rest, error] = std::from_chars(text.c_str(), end, seconds);
    if (error != std::errc() || rest != end) {
        const std::time_t at = curl_getdate(text.c_str(), nullptr);
        if (at == -1) return std::nullopt;
        seconds = at - std::time(nullptr);
    }
    return std::chrono::seconds(std::clamp<int64_t>(seconds, 0, most));
}

std::chrono::nanoseconds retry_pause(const client_options& how, unsigned retries, uint64_t random) noexcept {
    std::chrono::nanoseconds pause = how.retry_delay;
    for (unsigned i = 0; i < retries && pause < how.retry_delay_max; ++i)
        pause = pause > how.retry_delay_max / 2 ? how.retry_delay_max : 2 * pause;
    pause = std::min(pause, how.retry_delay_max);
    const int64_t half = pause.count() / 2;
    return std::chrono::nanoseconds(pause.count() - half +
                                    static_cast<int64_t>(random % static_cast<uint64_t>(half + 1)));
}

uint64_t some_number() noexcept {
    static std::atomic<uint64_t> count = 0;
    // The finalizer of splitmix64, over the time and a count.
    uint64_t x = static_cast<uint64_t>(weft::detail::now_ns()) + count.fetch_add(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

}  // namespace weft::http::detail
