// sigpipe_counter.h: detects SIGPIPE.
#pragma once

#include <csignal>

namespace weft::test {

#if defined(_WIN32)  // it has no such signal

struct sigpipe_counter {
    [[nodiscard]] static int count() { return 0; }
};

#else

// While one exists, SIGPIPE is only counted. One at a time.
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

// While one exists, SIGPIPE is blocked in the OS thread that made it.
class sigpipe_blocked {
public:
    sigpipe_blocked();
    ~sigpipe_blocked();
    sigpipe_blocked(const sigpipe_blocked&) = delete;
    sigpipe_blocked& operator=(const sigpipe_blocked&) = delete;

    // Makes one pending for this thread.
    void raise() const;

    // Consumes the pending one; false: none was pending.
    [[nodiscard]] bool take() const;

private:
    sigset_t before_{};
};

#endif

}  // namespace weft::test
