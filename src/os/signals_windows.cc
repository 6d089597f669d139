// signals_windows.cc: reports of faults, by a vectored exception handler: see signals.h.
//
// The handler is called first for every exception of the process, also for those of C++, and passes
// on all but accesses to memory. headroom_windows.h says how it gets room on a stack that is used
// up. With the little that it has, it moves to the alternate stack of its thread.
//
// Rejected: SetUnhandledExceptionFilter for all: it is called after the search for handlers, which
// needs more room, and cannot let a stack grow. It calls the hook of a fatal end only.
//
// A thread that overflows the stack which the system has given it gets no report from here: there
// the guard is the system's.
//
// Rejected for questions: SuspendThread, and a look from outside: what looks asks for the state of
// its own thread. So questions are not answered.
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "base/report_hook.h"
#include "os/console_windows.h"
#include "os/headroom_windows.h"
#include "os/os.h"
#include "os/signals.h"
#include "os/windows_api.h"

// context/call_on_stack.h, a layer above: assembly that needs nothing of it.
extern "C" void run_call_on_stack(void* top, void (*function)(void* argument), void* argument);

namespace weft::detail::os {

namespace {

constexpr std::size_t handler_needs = 64 * 1024;  // a report with a backtrace

using handler_function = bool (*)(const fault&);
constinit handler_function fault_handler = nullptr;
constinit LPTOP_LEVEL_EXCEPTION_FILTER previous_filter = nullptr;

// At the low end of the mapping.
struct alternate {
    std::size_t mapped;
    alternate* before;
    bool busy;  // the handler is on it
};

thread_local constinit alternate* own_alternate = nullptr;

struct handling {
    fault what;
    bool handled = false;
};

void handle(void* argument) {
    auto& h = *static_cast<handling*>(argument);
    h.handled = fault_handler(h.what);
}

bool is_access(DWORD code) noexcept {
    return code == static_cast<DWORD>(EXCEPTION_GUARD_PAGE) || code == static_cast<DWORD>(EXCEPTION_ACCESS_VIOLATION) ||
           code == static_cast<DWORD>(EXCEPTION_IN_PAGE_ERROR);
}

NT_TIB& own_tib() noexcept { return *reinterpret_cast<NT_TIB*>(NtCurrentTeb()); }

// The unwinder must find frames in the part by which this thread's stack has grown.
void lower_stack_limit(uintptr_t sp) noexcept {
    NT_TIB& tib = own_tib();
    const auto limit = reinterpret_cast<uintptr_t>(tib.StackLimit);
    const bool is_own = sp < reinterpret_cast<uintptr_t>(tib.StackBase) && sp + handler_needs >= limit;
    if (is_own && grown_to < limit) tib.StackLimit = reinterpret_cast<void*>(grown_to);  // NOLINT
}

LONG CALLBACK on_exception(EXCEPTION_POINTERS* e) {
    const EXCEPTION_RECORD& record = *e->ExceptionRecord;
    if (!is_access(record.ExceptionCode)) return EXCEPTION_CONTINUE_SEARCH;
    const CONTEXT& at = *e->ContextRecord;
    handling h{{.signal = SIGSEGV,
                .address = reinterpret_cast<const void*>(record.ExceptionInformation[1]),  // NOLINT
                .pc = reinterpret_cast<const void*>(at.Rip),                               // NOLINT
                .fp = reinterpret_cast<const void*>(at.Rbp)}};                             // NOLINT
    const int kept_errno = errno;
    const DWORD kept_error = GetLastError();
    grown_to = 0;
    alternate* a = own_alternate;
    if (a != nullptr && !a->busy) {
        a->busy = true;
        run_call_on_stack(reinterpret_cast<std::byte*>(a) + a->mapped, &handle, &h);
        a->busy = false;
    } else {
        handle(&h);
    }
    if (h.handled && grown_to != 0) lower_stack_limit(at.Rsp);
    SetLastError(kept_error);
    errno = kept_errno;
    return h.handled ? EXCEPTION_CONTINUE_EXECUTION : EXCEPTION_CONTINUE_SEARCH;
}

LONG WINAPI on_unhandled(EXCEPTION_POINTERS* e) {
    call_report_hook(reported::fatal);
    return previous_filter != nullptr ? previous_filter(e) : EXCEPTION_CONTINUE_SEARCH;
}

}  // namespace

void* map_alternate_stack() noexcept {
    void* memory = map_pages(handler_needs, true);
    if (memory == nullptr) return nullptr;
    static_cast<alternate*>(memory)->mapped = handler_needs;
    return memory;
}

void install_alternate_stack(void* memory) noexcept {
    if (memory == nullptr) return;
    auto* a = static_cast<alternate*>(memory);
    a->before = own_alternate;
    own_alternate = a;
    grown_to = 0;  // a thread-local may be allocated at its first use, which a handler must not do
}

bool is_on_alternate_stack(const void* memory, const void* address) noexcept {
    static_cast<void>(memory);
    static_cast<void>(address);
    return false;  // handlers run on the stack of the fault
}

void remove_alternate_stack(void* memory) noexcept {
    if (memory == nullptr) return;
    auto* a = static_cast<alternate*>(memory);
    if (own_alternate == a) own_alternate = a->before;
    unmap_pages(a, a->mapped);
}

void install_fault_handler(bool (*handler)(const fault&)) noexcept {
    if (fault_handler != nullptr) return;
    fault_handler = handler;
    constexpr ULONG first = 1;
    AddVectoredExceptionHandler(first, &on_exception);
    previous_filter = SetUnhandledExceptionFilter(&on_unhandled);
}

// Threads have no signal masks here.
void restore_signals() noexcept {}

// Those that the console sends: Ctrl-C, Ctrl-Break, and SIGTERM when the window is closed.
int signal_number(std::string_view name) noexcept {
    if (name.starts_with("SIG")) name.remove_prefix(3);

    struct named {
        std::string_view name;
        int number;
    };

    constexpr named all[] = {{"INT", SIGINT}, {"BREAK", SIGBREAK}, {"TERM", SIGTERM}};
    int number = 0;
    const auto result = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool is_number = result.ec == std::errc() && result.ptr == name.data() + name.size();
    for (const named& s : all) {
        if (is_number ? s.number == number : s.name == name) return s.number;
    }
    return 0;
}

int call_on_signal(int signal, void (*hook)() noexcept) noexcept { return hook_console_signal(signal, hook); }

void enable_questions() noexcept {}

bool questions_enabled() noexcept { return false; }

void forget_questions() noexcept {}

void take_questions(bool /*is_ours*/) noexcept {}

bool ask_thread(int /*tid*/, void (* /*look*/)(void*, const fault&) noexcept, void* /*closure*/) noexcept {
    return false;
}

}  // namespace weft::detail::os

// For context/context_windows_x86_64.S. A C++ exception goes on after its throw, and is reported by
// std::terminate.
extern "C" [[gnu::used]] EXCEPTION_DISPOSITION run_unhandled(EXCEPTION_RECORD* record,
                                                             void* /*frame*/,
                                                             CONTEXT* context,
                                                             void* /*dispatcher*/) {
    EXCEPTION_POINTERS both{record, context};
    const LONG answer = UnhandledExceptionFilter(&both);
    if (answer == EXCEPTION_EXECUTE_HANDLER) TerminateProcess(GetCurrentProcess(), record->ExceptionCode);
    return answer == EXCEPTION_CONTINUE_EXECUTION ? ExceptionContinueExecution : ExceptionContinueSearch;
}
