// retry.cc: repeats a call that has failed, with growing random pauses. Gives up after some
// attempts, and at once if a repetition cannot help.
// See: docs/cookbook/retry.md
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

// Thrown for a failure that may pass.
struct unavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct backoff {
    int attempts = 5;
    std::chrono::microseconds first = 1ms;  // the longest first pause; doubled for each further one
    std::chrono::microseconds longest = 50ms;
};

// A random pause from 0 to at_most, so that clients that failed together do not return together.
std::chrono::microseconds jitter(std::chrono::microseconds at_most) {
    static const weft::local<std::mt19937> dice([] { return std::mt19937(std::random_device()()); });
    return std::chrono::microseconds(std::uniform_int_distribution<std::int64_t>(0, at_most.count())(*dice));
}

// Returns what f returns. A deadline or a cancellation around the call ends the pauses, too.
template <typename F>
auto retry(const backoff& how, F f) {
    auto pause = how.first;
    for (int attempt = 1;; ++attempt) {
        try {
            return f(attempt);
        } catch (const unavailable&) {
            if (attempt == how.attempts) throw;
        }
        weft::sleep_for(jitter(pause));  // outside of the handler: its exception is gone
        pause = std::min(2 * pause, how.longest);
    }
}

}  // namespace

int main() {
    return weft::main([] {
        const int got = retry({}, [](int attempt) {
            std::printf("attempt %d\n", attempt);
            if (attempt < 3) throw unavailable("503");
            return 42;
        });
        std::printf("result: %d\n", got);

        int attempts = 0;
        try {
            retry({.attempts = 4, .first = 100us}, [&](int) -> int {
                ++attempts;
                throw unavailable("503");
            });
        } catch (const unavailable& e) {
            std::printf("given up after %d attempts: %s\n", attempts, e.what());
        }
        try {
            retry({}, [](int) -> int { throw std::invalid_argument("400"); });
        } catch (const std::invalid_argument& e) {
            std::printf("not repeated: %s\n", e.what());
        }
        try {
            weft::with_timeout(5ms,
                               [] { retry({.attempts = 1'000'000}, [](int) -> int { throw unavailable("503"); }); });
        } catch (const weft::timed_out&) {
            std::printf("ended by the deadline of the caller\n");
        }
    });
}
