// asking.h: a thread that keeps asking all Gs on a scheduler to yield, as the monitor does at the
// end of time slices.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace weft::detail {
struct scheduler;
}

namespace weft::test {

class asking {
public:
    // Asks on the caller's scheduler; the caller is a green thread. Without an interval:
    // continuously.
    explicit asking(std::chrono::nanoseconds interval = {});
    ~asking();

    asking(const asking&) = delete;
    asking& operator=(const asking&) = delete;

private:
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

// Asks the calling green thread, which yields at its next check.
void ask_myself();

// Preemptions on the caller's scheduler: in instrumented code, and by a signal.
[[nodiscard]] uint64_t times_preempted();
[[nodiscard]] uint64_t times_interrupted();

// Whether the caller is bound to its OS thread because it was preempted there.
[[nodiscard]] bool is_kept();

}  // namespace weft::test
