// signals_posix.cc: see signals.h.
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "base/report_hook.h"
#include "os/interrupt_signal.h"
#include "os/machine_context.h"
#include "os/os.h"
#include "os/signal_facts.h"
#include "os/signals.h"

namespace weft::detail::os {

namespace {

constexpr std::size_t handler_needs = 64 * 1024;  // a report with a backtrace

using fault_function = bool (*)(const fault&);
constinit fault_function fault_handler = nullptr;
constinit struct sigaction previous_segv = {};
constinit struct sigaction previous_bus = {};

// At the low end of the mapping.
struct alternate {
    stack_t before;
    std::size_t mapped;
    bool installed;
};

void pass_fault_on(int signal, siginfo_t* info, void* context) noexcept {
    const struct sigaction& before = signal == SIGSEGV ? previous_segv : previous_bus;
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(signal, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(signal);
    } else if (!was_sent(*info)) {
        call_report_hook(reported::fatal);
        // The default action follows when the instruction faults again.
        std::signal(signal, SIG_DFL);
    } else if (before.sa_handler == SIG_DFL) {
        call_report_hook(reported::fatal);
        // No instruction will fault again.
        std::signal(signal, SIG_DFL);
        std::raise(signal);
    }
}

void on_fault(int signal, siginfo_t* info, void* context) {
    const machine_registers r = read_registers(context);
    const fault f{signal, info->si_addr, reinterpret_cast<const void*>(r.pc), reinterpret_cast<const void*>(r.fp)};
    if (!was_sent(*info) && fault_handler(f)) return;
    pass_fault_on(signal, info, context);
}

// A size that sigaltstack accepts.
std::size_t smallest_stack() noexcept {
#if defined(_SC_MINSIGSTKSZ)
    return static_cast<std::size_t>(sysconf(_SC_MINSIGSTKSZ));
#else
    return MINSIGSTKSZ;
#endif
}

}  // namespace

void* map_alternate_stack() noexcept {
    const std::size_t page = page_size();
    std::size_t size = handler_needs + signal_frame_size() + sizeof(alternate);
    size = (size + page - 1) / page * page;
    // Sparse, so that the kernel does not merge it with a stack of the C library, which aborts if
    // it cannot unmap one.
    void* memory = map_pages(size, true);
    if (memory == nullptr) return nullptr;
    static_cast<alternate*>(memory)->mapped = size;
    return memory;
}

void install_alternate_stack(void* memory) noexcept {
    if (memory == nullptr) return;
    auto* a = static_cast<alternate*>(memory);
    stack_t mine{};
    mine.ss_sp = a + 1;
    mine.ss_size = a->mapped - sizeof(alternate);
    std::memset(mine.ss_sp, 0, mine.ss_size);  // no page fault inside a fault
    a->installed = sigaltstack(&mine, &a->before) == 0;
}

bool is_on_alternate_stack(const void* memory, const void* address) noexcept {
    if (memory == nullptr) return false;
    const auto* first = static_cast<const char*>(memory);
    const auto* at = static_cast<const char*>(address);
    return at >= first && at < first + static_cast<const alternate*>(memory)->mapped;
}

void remove_alternate_stack(void* memory) noexcept {
    if (memory == nullptr) return;
    auto* a = static_cast<alternate*>(memory);
    if (a->installed) {
        if ((a->before.ss_flags & SS_DISABLE) != 0) a->before.ss_size = smallest_stack();
        if (sigaltstack(&a->before, nullptr) != 0) return;  // still in use, so it stays
    }
    unmap_pages(a, a->mapped);
}

void install_fault_handler(bool (*handler)(const fault&)) noexcept {
    if (fault_handler != nullptr) return;
    fault_handler = handler;
    struct sigaction action{};
    action.sa_sigaction = &on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previous_segv);
    sigaction(SIGBUS, &action, &previous_bus);
}

namespace {

struct hooked {
    atomic<void (*)() noexcept> hook{nullptr};
    struct sigaction before = {};
};

constinit hooked hooks[largest_signal + 1];  // before is immutable once its signal is handled

void on_hooked(int signal, siginfo_t* info, void* context) {
    const int kept_errno = errno;
    const hooked& h = hooks[signal];
    if (auto hook = h.hook.load(acquire)) hook();  // pairs with call_on_signal
    if ((h.before.sa_flags & SA_SIGINFO) != 0) {
        h.before.sa_sigaction(signal, info, context);
    } else if (h.before.sa_handler != SIG_DFL && h.before.sa_handler != SIG_IGN) {
        h.before.sa_handler(signal);
    }
    errno = kept_errno;
}

bool may_be_hooked(int signal) noexcept {
    if (!is_for_programs(signal)) return false;
    for (const int taken : {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGURG}) {
        if (signal == taken) return false;
    }
    return true;
}

constexpr named_signal signal_names[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},   {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
    {"TERM", SIGTERM}, {"CONT", SIGCONT}, {"WINCH", SIGWINCH}, {"IO", SIGIO},
};

}  // namespace

int signal_number(std::string_view name) noexcept {
    if (name.starts_with("SIG")) name.remove_prefix(3);
    for (const named_signal& s : signal_names) {
        if (s.name == name) return s.number;
    }
    if (own_signal.name == name) return own_signal.number;
    int number = 0;
    const auto result = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool whole = result.ec == std::errc() && result.ptr == name.data() + name.size();
    return whole && may_be_hooked(number) ? number : 0;
}

int call_on_signal(int signal, void (*hook)() noexcept) noexcept {
    if (!may_be_hooked(signal)) return EINVAL;
    hooked& h = hooks[signal];
    struct sigaction action{};
    action.sa_sigaction = &on_hooked;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&action.sa_mask);
    installing_handlers.lock();
    auto* const there = h.hook.load(relaxed_locked);
    if (there != nullptr) {
        installing_handlers.unlock();
        return there == hook ? 0 : EBUSY;
    }
    h.hook.store(hook, release);            // pairs with on_hooked
    sigaction(signal, nullptr, &h.before);  // first: the handler may run at once
    const int error = sigaction(signal, &action, nullptr) == 0 ? 0 : errno;
    if (error != 0) h.hook.store(nullptr, relaxed_locked);
    installing_handlers.unlock();
    return error;
}

}  // namespace weft::detail::os
