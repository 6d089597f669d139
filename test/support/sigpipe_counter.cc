#include "sigpipe_counter.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <ctime>

namespace weft::test {

namespace {

std::atomic<int> sigpipes = 0;

sigset_t only_sigpipe() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGPIPE);
    return set;
}

}  // namespace

sigpipe_counter::sigpipe_counter() {
    sigpipes = 0;
    struct sigaction counted{};
    counted.sa_handler = [](int) { ++sigpipes; };
    counted.sa_flags = SA_ONSTACK | SA_RESTART;
    if (::sigaction(SIGPIPE, &counted, &before_) != 0) std::abort();
}

sigpipe_counter::~sigpipe_counter() { ::sigaction(SIGPIPE, &before_, nullptr); }

int sigpipe_counter::count() const { return sigpipes; }

sigpipe_blocked::sigpipe_blocked() {
    const sigset_t set = only_sigpipe();
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
}

sigpipe_blocked::~sigpipe_blocked() {
    while (take()) {}
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void sigpipe_blocked::raise() const { ::pthread_kill(::pthread_self(), SIGPIPE); }

bool sigpipe_blocked::take() const {
    const sigset_t set = only_sigpipe();
    constexpr timespec at_once{};
    return ::sigtimedwait(&set, nullptr, &at_once) == SIGPIPE;
}

}  // namespace weft::test
