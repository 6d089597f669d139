// policy.cc: see policy.h.
#include "http_client/policy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include <weft/backoff.h>

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
    return weft::detail::backoff_pause({.first = how.retry_delay, .longest = how.retry_delay_max}, retries, random);
}

}  // namespace weft::http::detail
