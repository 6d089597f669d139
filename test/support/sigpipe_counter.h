// sigpipe_counter.h: whether SIGPIPE comes.
#pragma once

#include <csignal>

namespace weft::test {

// While one exists, SIGPIPE ends nobody and is counted. One at a time.
class sigpipe_counter {
public:
    sigpipe_counter();
    ~sigpipe_counter();
    sigpipe_counter(const sigpipe_counter&) = delete;
    sigpipe_counter& operator=(const sigpipe_counter&) = delete;

    [[nodiscard]] int count() const;

private:
    struct sigaction before_{};
};

// While one exists, SIGPIPE is blocked in the OS thread that has made it.
class sigpipe_blocked {
public:
    sigpipe_blocked();
    ~sigpipe_blocked();
    sigpipe_blocked(const sigpipe_blocked&) = delete;
    sigpipe_blocked& operator=(const sigpipe_blocked&) = delete;

    // One is pending from now on, for this thread.
    void raise() const;

    // Takes the pending one; false: there is none.
    [[nodiscard]] bool take() const;

private:
    sigset_t before_{};
};

}  // namespace weft::test
