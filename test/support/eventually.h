// eventually.h: waits for a condition without guessing how long that takes.
//
// eventually(condition) checks repeatedly and yields in between: a green thread to other Gs, a
// plain thread to the system. If the condition does not hold within patience(), the process prints
// where it waited and all green threads, and aborts. A hang is a failure with a report.
#pragma once

#include <chrono>
#include <source_location>

#include "scale.h"

namespace weft::test {

// The pauses of one wait.
class patient_wait {
public:
    explicit patient_wait(std::source_location where) noexcept : where_(where) {}

    // Yields once. Aborts if patience() has passed.
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

// As eventually(), without calls into weft: a green thread keeps its processor busy.
template <typename Condition>
void busily(Condition&& condition, std::source_location where = std::source_location::current()) {
    const auto deadline = std::chrono::steady_clock::now() + patience();
    while (!condition()) impl::busy_pause(deadline, where);
}

// Computes for duration on the caller's processor, without calls into weft.
void compute_for(std::chrono::nanoseconds duration);

}  // namespace weft::test
