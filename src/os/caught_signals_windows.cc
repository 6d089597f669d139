// caught_signals_windows.cc: signals of the console: see caught_signals.h and console_windows.h.
//
// A descriptor that a signal makes readable is a pair of connected UDP sockets, because the poller
// watches sockets only. A datagram in one of them is the state "set".
//
// Rejected: signal() of the C library: it takes the handler away before each call, and knows no
// SIGTERM of a console.
#include <atomic>
#include <cerrno>
#include <csignal>

#include "base/atomic.h"
#include "os/caught_signals.h"
#include "os/console_windows.h"
#include "os/fd_calls.h"
#include "os/std_handles.h"
#include "os/windows_api.h"
#include "os/windows_errors.h"

namespace weft::detail::os {

namespace {

constexpr int signals_end = 32;

struct caught_state {
    atomic<void (*)(int) noexcept> arrived{nullptr};
    atomic<void (*)() noexcept> hook{nullptr};
    atomic<bool> ignored{false};
};

constinit caught_state states[signals_end];
constinit atomic<bool> installed{false};

bool comes_from_console(int signal) noexcept { return signal == SIGINT || signal == SIGBREAK || signal == SIGTERM; }

int signal_of(DWORD event) noexcept {
    if (event == CTRL_C_EVENT) return SIGINT;
    if (event == CTRL_BREAK_EVENT) return SIGBREAK;
    return SIGTERM;
}

BOOL WINAPI on_event(DWORD event) {
    const int signal = signal_of(event);
    caught_state& s = states[signal];
    const auto hook = s.hook.load(acquire);  // pairs with hook_console_signal
    if (hook != nullptr) hook();
    const auto arrived = s.arrived.load(acquire);  // pairs with catch_signal
    if (arrived != nullptr) arrived(signal);
    const bool handled = hook != nullptr || arrived != nullptr || s.ignored.load(acquire);  // pairs with ignore_signal
    // The process ends when this handler returns.
    if (handled && signal == SIGTERM) Sleep(INFINITE);
    return handled ? TRUE : FALSE;
}

int install() noexcept {
    if (installed.exchange(true, acq_rel)) return 0;  // acq_rel: one of us installs
    if (SetConsoleCtrlHandler(&on_event, TRUE) != 0) return 0;
    installed.store(false, release);  // pairs with the exchange
    return last_error_number();
}

}  // namespace

int hook_console_signal(int signal, void (*hook)() noexcept) noexcept {
    if (!comes_from_console(signal)) return EINVAL;
    void (*none)() noexcept = nullptr;
    // release: pairs with on_event; relaxed: only compared
    if (!states[signal].hook.compare_exchange_strong(none, hook, release, relaxed) && none != hook) return EBUSY;
    return install();
}

const char* why_not_caught(int signal) noexcept {
    if (comes_from_console(signal)) return nullptr;
    return "Windows has only SIGINT (Ctrl-C), SIGBREAK (Ctrl-Break) and SIGTERM (the window is closed)";
}

int catch_signal(int signal, void (*arrived)(int signal) noexcept) noexcept {
    states[signal].arrived.store(arrived, release);  // pairs with on_event
    return install();
}

int ignore_signal(int signal) noexcept {
    states[signal].ignored.store(true, release);  // pairs with on_event
    return install();
}

void release_signal(int signal) noexcept {
    states[signal].arrived.store(nullptr, release);  // pairs with on_event
    states[signal].ignored.store(false, release);    // as above
}

bool signal_is_ignored(int signal) noexcept {
    return signal >= 0 && signal < signals_end && states[signal].ignored.load(acquire);  // pairs with ignore_signal
}

namespace {

// Of each event: the socket that is written to, found by the one that is read.
struct event_pair {
    atomic<int> reads{-1};
    atomic<int> writes{-1};
};

constexpr int events_most = 16;  // one for each user of signals, in fact
constinit event_pair events[events_most];

}  // namespace

int event_make() noexcept {
    sockaddr_in local{};
    local.sin_family = AF_INET;
    local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int reads = socket_make(AF_INET, SOCK_DGRAM, 0);
    if (reads < 0) return reads;
    const int writes = socket_make(AF_INET, SOCK_DGRAM, 0);
    auto* address = reinterpret_cast<sockaddr*>(&local);
    uint32_t size = sizeof(local);
    int result = writes < 0 ? writes : socket_bind(reads, address, size);
    if (result == 0) result = socket_name(reads, false, address, size);
    if (result == 0) result = socket_connect(writes, address, size);
    // The other way round too, so that no stranger can write.
    if (result == 0) result = socket_name(writes, false, address, size);
    if (result == 0) result = socket_connect(reads, address, size);
    for (event_pair& e : events) {
        if (result != 0) break;
        int none = -1;
        // acquire: one maker takes it; relaxed: taken
        if (!e.reads.compare_exchange_strong(none, -2, acquire, relaxed)) continue;
        e.writes.store(writes, relaxed);  // relaxed: published by the next
        e.reads.store(reads, release);    // pairs with event_set
        return reads;
    }
    if (writes >= 0) fd_close(writes);
    fd_close(reads);
    return result != 0 ? result : -EMFILE;
}

void event_set(int fd) noexcept {
    for (const event_pair& e : events) {
        if (e.reads.load(acquire) != fd) continue;  // pairs with event_make
        constexpr char one = 1;
        static_cast<void>(socket_send(e.writes.load(relaxed), &one, sizeof(one)));  // relaxed: the acquire
        return;
    }
}

void event_clear(int fd) noexcept {
    char any = 0;
    while (socket_receive(fd, &any, sizeof(any)) > 0) {}
}

}  // namespace weft::detail::os
