// eventually.h: waiting for something to become true, without guessing how long that takes.
//
// eventually(condition) looks again and again, giving way in between: a green thread yields, a plain thread hands its core to the
// operating system. Should the condition not hold after patience(), the process prints where it waited and what every green
// thread does, and aborts: a hang is a failure with a report.
#pragma once

#include <chrono>
#include <source_location>

#include "scale.h"

namespace weft::test {

// The pauses of one wait.
class patient_wait {
public:
    explicit patient_wait(std::source_location where) noexcept : where_(where) {}

    // Gives way once. Does not return if patience has run out.
    void pause();

private:
    std::source_location where_;
    std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + patience();
    unsigned pauses_ = 0;
};

// Returns once condition() is true. Any thread.
template <typename Condition>
void eventually(Condition&& condition, std::source_location where = std::source_location::current()) {
    for (patient_wait wait(where); !condition();) wait.pause();
}

namespace impl {
void busy_pause(std::chrono::steady_clock::time_point deadline, std::source_location where);
}  // namespace impl

// As eventually(), but without a call into weft: a green thread that waits this way keeps its processor busy.
template <typename Condition>
void busily(Condition&& condition, std::source_location where = std::source_location::current()) {
    const auto deadline = std::chrono::steady_clock::now() + patience();
    while (!condition()) impl::busy_pause(deadline, where);
}

// Keeps the caller's processor busy for duration, as a computation would: no call into weft.
void compute_for(std::chrono::nanoseconds duration);

}  // namespace weft::test
