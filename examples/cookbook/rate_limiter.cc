// rate_limiter.cc: a token bucket: so many calls per second, and bursts of a few at once.
// See: docs/cookbook/rate_limiter.md
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>

#include <weft/weft.h>

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

namespace {

// A bucket for `burst` tokens, full at first. A new token comes every `period`.
class rate_limiter {
public:
    rate_limiter(clock_type::duration period, int burst) : period_(period), burst_(burst) {}

    // Takes a token; waits until it is there. Callers get theirs in order of arrival.
    void wait() { weft::sleep_until(take(true).value()); }

    // Takes a token if there is one.
    [[nodiscard]] bool try_take() { return take(false).has_value(); }

private:
    // Takes the next token and returns the time at which it is there. Takes none if that is in the
    // future, unless even_later.
    std::optional<clock_type::time_point> take(bool even_later) {
        const std::lock_guard hold(lock_);
        const auto now = clock_type::now();
        const auto full_at = std::max(full_at_, now) + period_;  // with one token less
        const auto there_at = full_at - burst_ * period_;
        if (there_at > now && !even_later) return std::nullopt;
        full_at_ = full_at;
        return there_at;
    }

    const clock_type::duration period_;
    const int burst_;
    weft::mutex lock_;
    clock_type::time_point full_at_{};  // guarded by lock_: when the bucket will be full
};

}  // namespace

int main() {
    return weft::main([] {
        rate_limiter hourly(1h, 3);
        for (int i = 1; i <= 4; ++i) std::printf("call %d of this hour: %s\n", i, hourly.try_take() ? "yes" : "no");

        rate_limiter limit(1ms, 5);
        const auto begin = clock_type::now();
        weft::wait_group callers;
        for (int i = 0; i < 15; ++i) callers.go([&] { limit.wait(); });
        callers.wait();
        std::printf("15 calls took at least 10 ms: %s\n", clock_type::now() - begin >= 10ms ? "yes" : "no");
    });
}
