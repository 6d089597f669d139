// bystanders.h: those who are not to be held up.
//
// Green threads that do a bit of everything that needs a P: sleep, talk over a channel, wait for timers, take turns. Whether
// they come to their end while somebody else holds on is a fact, not a matter of speed; how late they were is told beside how
// late plain threads were at the same time, on the same machine.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include <weft/future.h>
#include <weft/runtime.h>

namespace weft::test {

// For those who compute, or block, until they are let go: a flag, and a file descriptor.
class leash {
public:
    leash();
    ~leash();
    leash(const leash&) = delete;
    leash& operator=(const leash&) = delete;

    void let_go();

    [[nodiscard]] bool holds() const noexcept { return !gone_.load(std::memory_order_relaxed); }

    // Can be read from, without taking anything away, once it is let go: one byte for each let_go.
    [[nodiscard]] int fd() const noexcept { return pipe_[0]; }

private:
    std::atomic<bool> gone_{false};
    int pipe_[2];
};

class bystanders {
public:
    // Starts them on rt. They end soon, if nobody holds them up.
    explicit bystanders(runtime& rt);

    // Whether they have ended, and were not much later than plain threads (the bar is in bystanders.cc). Waits for that, but not for ever. By a plain thread.
    // On failure they may still be there: they are to be let go, and drained, before this is destroyed.
    [[nodiscard]] ::testing::AssertionResult go_on();

private:
    struct state;
    std::shared_ptr<state> state_;
};

}  // namespace weft::test
