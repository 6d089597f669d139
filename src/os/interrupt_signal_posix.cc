// interrupt_signal_posix.cc: see interrupt_signal.h.
#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <initializer_list>

#include "base/atomic.h"
#include "os/interrupt_signal.h"
#include "os/machine_context.h"
#include "os/marked_signal.h"
#include "os/signal_facts.h"

namespace weft::detail::os {

constinit spin_lock installing_handlers;

namespace {

using handler_function = bool (*)(const interruption&) noexcept;

struct installed {
    handler_function ours = nullptr;
    struct sigaction before = {};
};

constinit installed table[largest_signal + 1] = {};  // an entry is immutable once its signal is handled

void pass_on(int signal, siginfo_t* info, void* context) noexcept {
    const struct sigaction& before = table[signal].before;
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(signal, info, context);
    } else if (before.sa_handler != SIG_IGN && before.sa_handler != SIG_DFL) {
        before.sa_handler(signal);
    } else if (before.sa_handler == SIG_DFL && signal != SIGURG && signal != SIGCHLD && signal != SIGWINCH) {
        // The signal is blocked until we return; then the default action happens.
        std::signal(signal, SIG_DFL);
        std::raise(signal);
    }
}

void on_signal(int signal, siginfo_t* info, void* context) {
    const int kept_errno = errno;
    answer_if_asked(signal, context);
    sample_if_due(info, context);
    const interruption at{read_registers(context).sp, context};
    const bool marked = is_question(info) || is_sample(info) || has_mark(info, &table);
    if (!table[signal].ours(at) && !marked) pass_on(signal, info, context);
    errno = kept_errno;
}

}  // namespace

int install_interrupt(int signal, bool (*handler)(const interruption& at) noexcept) noexcept {
    struct sigaction action = {};
    action.sa_sigaction = &on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
#if defined(__x86_64__)
    action.sa_flags |= SA_ONSTACK;
#endif
    sigemptyset(&action.sa_mask);
    int error = 0;
    installing_handlers.lock();
    installed& entry = table[signal];
    if (entry.ours == nullptr) {
        // In this order, because the handler may run at once.
        sigaction(signal, nullptr, &entry.before);
        entry.ours = handler;
        if (sigaction(signal, &action, nullptr) != 0) {
            error = errno;
            entry.ours = nullptr;
        }
    }
    installing_handlers.unlock();
    return error;
}

bool is_interrupt_signal(int signal) noexcept {
    installing_handlers.lock();
    const bool yes = table[signal].ours != nullptr;
    installing_handlers.unlock();
    return yes;
}

bool may_interrupt(int signal) noexcept {
    if (!is_for_programs(signal) || signal == SIGKILL || signal == SIGSTOP) return false;
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
        if (signal == fault) return false;
    }
    return true;
}

void unblock_interrupt(int signal) noexcept {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

bool interrupt_comes(int signal) noexcept {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    struct sigaction there = {};
    sigaction(signal, nullptr, &there);
    // Any handler counts, because it may pass the signal on to ours.
    const bool handled = there.sa_handler != SIG_IGN && there.sa_handler != SIG_DFL;
    return sigismember(&blocked, signal) == 0 && handled;
}

bool is_interrupt_handler(void (*handler)(int, void*, void*)) noexcept {
    return handler == reinterpret_cast<void (*)(int, void*, void*)>(&on_signal);
}

bool send_interrupt(int tid, int signal) noexcept { return send_marked(tid, signal, &table); }

void go_on_in(const interruption& at, void (*entry)()) noexcept {
#if defined(__x86_64__)
    constexpr uintptr_t red_zone = 128;
    constexpr uintptr_t signal_frame_max = 64 * 1024;
    // Without an alternate stack, the signal frame lies where we would write.
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (here < at.sp && at.sp - here < signal_frame_max) return;
    const uintptr_t sp = at.sp - red_zone - sizeof(uintptr_t);
    const uintptr_t pc = read_registers(at.registers).pc;
    std::memcpy(reinterpret_cast<void*>(sp), &pc, sizeof(pc));  // NOLINT
    write_registers(at.registers, reinterpret_cast<uintptr_t>(entry), sp);
#else
    // entry may be interrupted again, so it runs with the interrupted code's mask.
    const auto* context = static_cast<const ucontext_t*>(at.registers);
    pthread_sigmask(SIG_SETMASK, &context->uc_sigmask, nullptr);
    entry();
#endif
}

}  // namespace weft::detail::os
