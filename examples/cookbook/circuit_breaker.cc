// circuit_breaker.cc: stops calling a service that fails, and tries it again after a while.
// See: docs/cookbook/circuit_breaker.md
#include <chrono>
#include <cstdio>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <weft/weft.h>

using namespace std::chrono_literals;
using time_point = std::chrono::steady_clock::time_point;

namespace {

struct circuit_open : std::runtime_error {
    circuit_open() : std::runtime_error("not called: the circuit is open") {}
};

// Closed: calls go through. Open, after `failures` failures in a row: calls fail at once.
// After `pause` one call is let through. It closes the circuit, or opens it again.
class circuit_breaker {
public:
    circuit_breaker(int failures, std::chrono::milliseconds pause, std::function<time_point()> now)
        : failures_(failures), pause_(pause), now_(std::move(now)) {}

    template <typename F>
    auto call(F f) {
        enter();
        try {
            auto result = f();
            leave(true);
            return result;
        } catch (...) {  // also weft::timed_out and weft::cancelled
            leave(false);
            throw;
        }
    }

private:
    void enter() {
        const std::lock_guard hold(lock_);
        if (failed_ < failures_) return;
        if (now_() < retry_at_) throw circuit_open();
        retry_at_ = now_() + pause_;  // this call tries it; others wait for another pause
    }

    void leave(bool succeeded) {
        const std::lock_guard hold(lock_);
        failed_ = succeeded ? 0 : failed_ + 1;
        if (failed_ >= failures_) retry_at_ = now_() + pause_;
    }

    const int failures_;
    const std::chrono::milliseconds pause_;
    const std::function<time_point()> now_;
    weft::mutex lock_;  // not held during calls
    // Guarded by lock_.
    int failed_ = 0;  // in a row
    time_point retry_at_{};
};

}  // namespace

int main() {
    return weft::main([] {
        time_point now{};  // a clock for tests; programs pass std::chrono::steady_clock::now
        circuit_breaker breaker(3, 1000ms, [&] { return now; });
        bool works = false;
        const auto call = [&] {
            try {
                std::printf("%s\n", breaker.call([&] { return works ? "ok" : throw std::runtime_error("500"); }));
            } catch (const std::runtime_error& e) {
                std::printf("%s\n", e.what());
            }
        };
        for (int i = 0; i < 4; ++i) call();
        std::printf("a second later:\n");
        now += 1s;
        call();
        call();
        std::printf("a second later, the service works again:\n");
        now += 1s;
        works = true;
        call();
        call();
    });
}
