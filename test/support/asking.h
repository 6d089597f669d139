// asking.h: a thread that asks all who run on a scheduler to give way, again and again, as the monitor does at the end of time slices.
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
    // The scheduler of the caller, a green thread. Without an interval: as fast as can be.
    explicit asking(std::chrono::nanoseconds interval = {});
    ~asking();

    asking(const asking&) = delete;
    asking& operator=(const asking&) = delete;

private:
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

// Asks the caller itself, a green thread: the next look is heeded.
void ask_myself();

// How often green threads of the caller's scheduler have given way in instrumented code, and by a signal.
[[nodiscard]] uint64_t times_preempted();
[[nodiscard]] uint64_t times_interrupted();

// Whether the caller is bound to its OS thread because it was preempted there.
[[nodiscard]] bool is_kept();

}  // namespace weft::test
