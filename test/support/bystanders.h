// bystanders.h: green threads that must not be held up.
//
// They do a bit of everything that needs a P: sleep, use a channel, wait for timers, yield. Whether
// they finish while another G keeps its P is a fact, not a matter of speed. Their lateness is
// compared with that of plain threads at the same time, on the same machine.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include <weft/future.h>
#include <weft/runtime.h>

namespace weft::test {

// For threads that compute or block until released: a flag, and a file descriptor.
class leash {
public:
    leash();
    ~leash();
    leash(const leash&) = delete;
    leash& operator=(const leash&) = delete;

    void let_go();

    [[nodiscard]] bool holds() const noexcept { return !gone_.load(std::memory_order_relaxed); }

    // Blocks the OS thread in a call of the system (poll, on Windows a read) until let_go.
    void await() const;

private:
    std::atomic<bool> gone_{false};
    int pipe_[2];
};

class bystanders {
public:
    // Starts them on rt. They end soon if not held up.
    explicit bystanders(runtime& rt);

    // Waits, with a limit, until they have ended, and checks that they were not much later than
    // plain threads (bystanders.cc has the limit). Requires: a plain thread. On failure some may
    // still run: release and drain them before this is destroyed.
    [[nodiscard]] ::testing::AssertionResult go_on();

private:
    struct state;
    std::shared_ptr<state> state_;
};

}  // namespace weft::test
