// caught_signals_posix.cc: see caught_signals.h.
#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <new>

#include "base/atomic.h"
#include "os/caught_signals.h"
#include "os/interrupt_signal.h"
#include "os/signal_facts.h"

namespace weft::detail::os {

namespace {

// A copy of each distinct action. It is never changed or freed, because a handler on any thread may
// have read it.
struct found_action {
    struct sigaction action;
    const found_action* older;
};

struct record {
    atomic<void (*)(int) noexcept> arrived{nullptr};  // nullptr: not caught
    atomic<const found_action*> before{nullptr};      // set before our handler may run
    const found_action* all = nullptr;
    bool installed = false;  // our handler is installed, in front or below another one
    bool ignored = false;
    struct sigaction displaced = {};  // replaced by ignoring the signal
};

constinit record records[signals_max + 1];

bool is_function(const struct sigaction& a) noexcept {
    return (a.sa_flags & SA_SIGINFO) != 0 || (a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN);
}

bool does_nothing_by_default(int signal) noexcept {
    return signal == SIGURG || signal == SIGCHLD || signal == SIGWINCH || signal == SIGCONT;
}

// The rest of the C library's larger sets is indeterminate.
bool is_same_mask(const sigset_t& a, const sigset_t& b) noexcept {
    for (int signal = 1; signal <= signals_max; ++signal) {
        if (sigismember(&a, signal) != sigismember(&b, signal)) return false;
    }
    return true;
}

bool is_same(const struct sigaction& a, const struct sigaction& b) noexcept {
    if (a.sa_flags != b.sa_flags || !is_same_mask(a.sa_mask, b.sa_mask)) return false;
    return (a.sa_flags & SA_SIGINFO) != 0 ? a.sa_sigaction == b.sa_sigaction : a.sa_handler == b.sa_handler;
}

// Returns false if there is no memory.
bool keep(record& r, const struct sigaction& a) noexcept {
    const found_action* f = r.all;
    while (f != nullptr && !is_same(f->action, a)) f = f->older;
    if (f == nullptr) {
        f = new (std::nothrow) found_action{a, r.all};
        if (f == nullptr) return false;
        r.all = f;
    }
    r.before.store(f, release);  // pairs with on_caught
    return true;
}

void pass_on(const struct sigaction& before, int signal, siginfo_t* info, void* context, bool caught) noexcept {
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(signal, info, context);
    } else if (is_function(before)) {
        before.sa_handler(signal);
    } else if (!caught && before.sa_handler == SIG_DFL && !does_nothing_by_default(signal)) {
        // The signal is blocked until we return; then the default action happens.
        std::signal(signal, SIG_DFL);
        std::raise(signal);
    }
}

void on_caught(int signal, siginfo_t* info, void* context) {
    const int kept_errno = errno;
    const record& r = records[signal];
    auto arrived = r.arrived.load(acquire);  // pairs with catch_signal
    if (arrived != nullptr) arrived(signal);
    const found_action* before = r.before.load(acquire);  // pairs with keep
    pass_on(before->action, signal, info, context, arrived != nullptr);
    errno = kept_errno;
}

bool is_ours(const struct sigaction& a) noexcept {
    return (a.sa_flags & SA_SIGINFO) != 0 && a.sa_sigaction == &on_caught;
}

}  // namespace

const char* why_not_caught(int signal) noexcept {
    if (signal < 1 || signal > signals_max)
        return "a signal has a number from 1 to 64; use a name such as SIGINT or SIGTERM";
    if (signal == SIGKILL || signal == SIGSTOP) return "no program can handle it; use SIGTERM or SIGTSTP";
    if (!is_for_programs(signal)) return "the C library uses it; choose another signal";
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
        if (signal == fault) return "it reports a fault of the thread that receives it; handle it with sigaction";
    }
    if (signal == SIGURG || is_interrupt_signal(signal))
        return "the runtime uses it to interrupt threads; choose another signal, or set RUN_PREEMPT_SIGNAL";
    return nullptr;
}

int catch_signal(int signal, void (*arrived)(int) noexcept) noexcept {
    record& r = records[signal];
    int error = 0;
    installing_handlers.lock();
    r.arrived.store(arrived, release);  // pairs with on_caught
    struct sigaction found = {};
    sigaction(signal, nullptr, &found);
    // The handler that had replaced ours is gone, so none calls ours.
    if (r.installed && !is_function(found)) r.installed = false;
    if (!r.installed) {
        struct sigaction action = {};
        action.sa_sigaction = &on_caught;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        sigemptyset(&action.sa_mask);
        // In this order, because the handler may run at once.
        error = !keep(r, found) ? ENOMEM : sigaction(signal, &action, nullptr) == 0 ? 0 : errno;
        r.installed = error == 0;
        if (error != 0) r.arrived.store(nullptr, relaxed);  // relaxed: it was never called
    }
    installing_handlers.unlock();
    return error;
}

int ignore_signal(int signal) noexcept {
    record& r = records[signal];
    struct sigaction action = {};
    action.sa_handler = SIG_IGN;
    sigemptyset(&action.sa_mask);
    installing_handlers.lock();
    const int error = sigaction(signal, &action, &r.displaced) == 0 ? 0 : errno;
    r.ignored = error == 0;
    installing_handlers.unlock();
    return error;
}

void release_signal(int signal) noexcept {
    record& r = records[signal];
    installing_handlers.lock();
    r.arrived.store(nullptr, relaxed);  // relaxed: one more signal may arrive, and is dropped
    struct sigaction now = {};
    sigaction(signal, nullptr, &now);
    if (r.ignored && !is_function(now) && now.sa_handler == SIG_IGN) {
        sigaction(signal, &r.displaced, nullptr);
    } else if (r.installed && is_ours(now)) {
        sigaction(signal, &r.before.load(relaxed_own)->action, nullptr);
        r.installed = false;
    }
    r.ignored = false;
    installing_handlers.unlock();
}

bool signal_is_ignored(int signal) noexcept {
    struct sigaction now = {};
    return sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace weft::detail::os
