// caught_signals_linux.cc: see caught_signals.h.
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/atomic.h"
#include "os/caught_signals.h"
#include "os/interrupt_signal.h"
#include "os/never_inlined.h"

namespace weft::detail::os {

namespace {

// A handler in which it is called may be running, on whatever thread, for as long as it likes; so before is written only while no handler of
// ours is there.
struct record {
    atomic<void (*)(int) noexcept> arrived{nullptr};  // nullptr: not caught
    struct sigaction before = {};                     // immutable while installed
    bool installed = false;                           // our handler is there, in front or beneath another one
    bool ignored = false;
};

constinit record records[signals_max + 1];

bool is_function(const struct sigaction& a) noexcept {
    return (a.sa_flags & SA_SIGINFO) != 0 || (a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN);
}

bool does_nothing_by_default(int signal) noexcept {
    return signal == SIGURG || signal == SIGCHLD || signal == SIGWINCH || signal == SIGCONT;
}

void pass_on(const record& r, int signal, siginfo_t* info, void* context, bool caught) noexcept {
    if ((r.before.sa_flags & SA_SIGINFO) != 0) {
        r.before.sa_sigaction(signal, info, context);
    } else if (is_function(r.before)) {
        r.before.sa_handler(signal);
    } else if (!caught && r.before.sa_handler == SIG_DFL && !does_nothing_by_default(signal)) {
        // The default action, as soon as we return: the signal is blocked until then.
        std::signal(signal, SIG_DFL);
        std::raise(signal);
    }
}

void on_caught(int signal, siginfo_t* info, void* context) {
    const int kept_errno = errno;
    const record& r = records[signal];
    auto arrived = r.arrived.load(acquire);  // pairs with catch_signal
    if (arrived != nullptr) arrived(signal);
    pass_on(r, signal, info, context, arrived != nullptr);
    errno = kept_errno;
}

bool is_ours(const struct sigaction& a) noexcept {
    return (a.sa_flags & SA_SIGINFO) != 0 && a.sa_sigaction == &on_caught;
}

}  // namespace

const char* why_not_caught(int signal) noexcept {
    if (signal < 1 || signal > signals_max)
        return "there is none of that number: signals are 1 to 64, like SIGINT and SIGTERM";
    if (signal == SIGKILL || signal == SIGSTOP) return "it cannot be handled by anybody; SIGTERM and SIGTSTP can";
    if (signal > SIGSYS && signal < SIGRTMIN) return "it belongs to the C library";
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
        if (signal == fault)
            return "it tells of a fault, in the thread that gets it, which cannot go on until it is handled: use "
                   "sigaction";
    }
    if (signal == SIGURG || is_interrupt_signal(signal))
        return "the runtime uses it, to interrupt threads: take another one, or see RUN_PREEMPT_SIGNAL";
    return nullptr;
}

int catch_signal(int signal, void (*arrived)(int) noexcept) noexcept {
    record& r = records[signal];
    int error = 0;
    installing_handlers.lock();
    r.arrived.store(arrived, release);  // pairs with on_caught
    if (!r.installed) {
        struct sigaction action = {};
        action.sa_sigaction = &on_caught;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        sigemptyset(&action.sa_mask);
        sigaction(signal, nullptr, &r.before);  // first: the handler may run as soon as it is installed
        error = sigaction(signal, &action, nullptr) == 0 ? 0 : errno;
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
    struct sigaction found = {};
    installing_handlers.lock();
    const int error = sigaction(signal, &action, &found) == 0 ? 0 : errno;
    if (error == 0 && !r.installed) r.before = found;
    r.ignored = error == 0;
    installing_handlers.unlock();
    return error;
}

void release_signal(int signal) noexcept {
    record& r = records[signal];
    installing_handlers.lock();
    r.arrived.store(nullptr, relaxed);  // relaxed: one more may arrive, and is nobody's
    struct sigaction now = {};
    sigaction(signal, nullptr, &now);
    const bool still_ignored = r.ignored && !is_function(now) && now.sa_handler == SIG_IGN;
    if (still_ignored || (r.installed && is_ours(now))) {
        sigaction(signal, &r.before, nullptr);
        r.installed = false;
    }
    r.ignored = false;
    installing_handlers.unlock();
}

bool signal_is_ignored(int signal) noexcept {
    struct sigaction now = {};
    return sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
}

WEFT_OS_CALL int event_make() noexcept { return or_errno(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void event_set(int fd) noexcept {
    const uint64_t one = 1;
    static_cast<void>(::write(fd, &one, sizeof(one)) == 0);  // full: it is readable, and no more is wanted
}

void event_clear(int fd) noexcept {
    uint64_t ignored = 0;
    static_cast<void>(::read(fd, &ignored, sizeof(ignored)) == 0);  // empty: as good
}

}  // namespace weft::detail::os
