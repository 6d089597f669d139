// sigpipe.h: makes a system call that has no flag against SIGPIPE without raising one.
#pragma once

#include <pthread.h>

#include <csignal>

namespace weft::detail::os {

// Takes SIGPIPE, which the calling thread blocks, if it is pending. Part of the porting contract.
void consume_signal(const sigset_t& blocked) noexcept;

// Blocks SIGPIPE in this thread. take() consumes one that was raised meanwhile, but not one that
// was pending before.
class sigpipe_held_back {
public:
    sigpipe_held_back() noexcept {
        sigemptyset(&only_);
        sigaddset(&only_, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &only_, &before_);
        if (!was_blocked()) return;
        sigset_t pending;
        sigemptyset(&pending);
        sigpending(&pending);
        stays_ = sigismember(&pending, SIGPIPE) == 1;
    }

    ~sigpipe_held_back() {
        if (!was_blocked()) pthread_sigmask(SIG_UNBLOCK, &only_, nullptr);
    }

    sigpipe_held_back(const sigpipe_held_back&) = delete;
    sigpipe_held_back& operator=(const sigpipe_held_back&) = delete;

    // Called if the call has failed with EPIPE, or may have after a partial write.
    void take() const noexcept {
        if (!stays_) consume_signal(only_);
    }

private:
    [[nodiscard]] bool was_blocked() const noexcept { return sigismember(&before_, SIGPIPE) == 1; }

    sigset_t only_;
    sigset_t before_;
    bool stays_ = false;
};

}  // namespace weft::detail::os
