// rate_limit.h: at most so many events at once, and so many a second in the long run (a token
// bucket).
#pragma once

#include <algorithm>
#include <chrono>

namespace weft::http::detail {

class rate_limit {
public:
    using time_point = std::chrono::steady_clock::time_point;

    constexpr rate_limit(unsigned at_once, unsigned per_second) noexcept
        : at_once_(at_once), per_second_(per_second), left_(at_once) {}

    // An event happens. Returns false if it exceeds the limit. Times never go back.
    [[nodiscard]] bool take(time_point now) noexcept {
        left_ = std::min(at_once_, left_ + per_second_ * std::chrono::duration<double>(now - last_).count());
        last_ = now;
        if (left_ < 1) return false;
        left_ -= 1;
        return true;
    }

private:
    double at_once_;
    double per_second_;
    double left_;
    time_point last_{};
};

}  // namespace weft::http::detail
