// interrupt_signal_windows.cc: interrupts without signals: see interrupt_signal.h.
//
// Problem. Windows cannot make a thread call a function while the thread computes. But a thread can
// be suspended, and its registers can be read and set.
//
// Solution. The sender suspends the thread, pushes the thread's pc on the thread's stack, sets its
// pc to run_diverted, and resumes it. From there on it is as if a signal had arrived: the thread
// itself calls the handler, which decides whether the green thread may stop. The difference is that
// the interrupt has arrived when send_interrupt() returns. So no interrupt is ever on its way or
// lost.
//
// The sender leaves the thread alone, and the monitor asks again after the next time slice, if
//   - its pc is in a library of the system. It may be within a system call, which would overwrite
//     registers that we have set; or hold the lock of the heap;
//   - its pc is in a function of winpthreads by which GCC's programs read thread-locals. It may
//     hold the lock of the thread's values, and our handler reads thread-locals, too;
//   - the word below its stack pointer is not on an accessible page. A write there would raise the
//     exception of a guard page in the sender, which belongs to another stack
//     (headroom_windows.h).
//
// Between suspend and resume the sender takes no lock: the thread may hold it. One sender at a
// time: two that suspended each other would never go on.
//
// Rejected:
//   - Asynchronous procedure calls: they run only when the thread waits. Special ones (Windows 11)
//     run at once; wine 8 and Windows 10 have none.
//   - Work by the sender on the state of the suspended thread: the decision reads what belongs to
//     the thread, and the runtime's own locks.
//   - A word of the TIB for the interrupted pc instead of the stack: the loader and debuggers use
//     the free ones.
//
// A program that is marked as compatible with hardware shadow stacks (/CETCOMPAT) must not be
// interrupted so: its return to the interrupted pc is not on the shadow stack. Neither GCC nor
// Clang mark programs for Windows by themselves.
//
// Threads: see interrupt_signal.h. See: context/interrupt_windows_x86_64.S
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/atomic.h"
#include "os/interrupt_signal.h"
#include "os/windows_api.h"

// context/interrupt.h, a layer above.
extern "C" {
void run_diverted(void);
void run_handle_diverted(uintptr_t sp);
}

namespace weft::detail::os {

constinit spin_lock installing_handlers;

namespace {

using interrupt_handler = bool (*)(const interruption&) noexcept;

constinit atomic<interrupt_handler> installed{nullptr};
constinit spin_lock sending;

struct code_range {
    uintptr_t begin = 0;
    uintptr_t end = 0;
};

// Of a library that is loaded for as long as the process runs; empty if it is not loaded.
code_range range_of(const wchar_t* library) noexcept {
    const auto base = reinterpret_cast<uintptr_t>(GetModuleHandleW(library));
    if (base == 0) return {};
    const auto* dos = reinterpret_cast<const IMAGE_DOS_HEADER*>(base);                                         // NOLINT
    const auto* nt = reinterpret_cast<const IMAGE_NT_HEADERS*>(base + static_cast<uintptr_t>(dos->e_lfanew));  // NOLINT
    return {base, base + nt->OptionalHeader.SizeOfImage};
}

// Of a function in the program; empty for one that is imported from a library.
template <typename F>
code_range range_of(F* function) noexcept {
    DWORD64 base = 0;
    const auto* entry = RtlLookupFunctionEntry(reinterpret_cast<DWORD64>(function), &base, nullptr);
    if (entry == nullptr) return {};
    return {base + entry->BeginAddress, base + entry->EndAddress};
}

// Those that make system calls, those with the locks of the heap, and winpthreads.
constexpr const wchar_t* left_alone[] = {L"ntdll",  L"kernel32", L"kernelbase",     L"win32u",
                                         L"msvcrt", L"ucrtbase", L"libwinpthread-1"};
constexpr std::size_t functions_left_alone = 4;

// Immutable once a handler is installed.
constinit code_range ranges[std::size(left_alone) + functions_left_alone] = {};

void find_ranges() noexcept {
    code_range* next = ranges;
    for (const wchar_t* library : left_alone) *next++ = range_of(library);
    *next++ = range_of(&pthread_getspecific);
    *next++ = range_of(&pthread_setspecific);
    *next++ = range_of(&pthread_spin_lock);
    *next++ = range_of(&pthread_spin_unlock);
}

bool is_left_alone(uintptr_t pc) noexcept {
    for (const code_range& r : ranges)
        if (pc >= r.begin && pc < r.end) return true;
    return false;
}

bool is_writable(uintptr_t address) noexcept {
    MEMORY_BASIC_INFORMATION info;
    return VirtualQuery(reinterpret_cast<const void*>(address), &info, sizeof(info)) != 0 &&  // NOLINT
           info.State == MEM_COMMIT && info.Protect == PAGE_READWRITE;
}

// The thread is suspended.
bool divert([[maybe_unused]] HANDLE thread) noexcept {
#if defined(__x86_64__)
    CONTEXT at;
    at.ContextFlags = CONTEXT_CONTROL;
    if (GetThreadContext(thread, &at) == 0) return false;  // returns once the thread has really stopped
    const uintptr_t sp = at.Rsp - sizeof(uintptr_t);
    if (is_left_alone(at.Rip) || !is_writable(sp)) return false;
    const uintptr_t pc = at.Rip;
    at.Rsp = sp;
    at.Rip = reinterpret_cast<uintptr_t>(&run_diverted);
    if (SetThreadContext(thread, &at) == 0) return false;
    std::memcpy(reinterpret_cast<void*>(sp), &pc, sizeof(pc));  // NOLINT: below its stack, so not before
    return true;
#else
    return false;
#endif
}

}  // namespace

int install_interrupt(int /*signal*/, bool (*handler)(const interruption& at) noexcept) noexcept {
    installing_handlers.lock();
    if (installed.load(relaxed) == nullptr) {  // relaxed: under the lock
        find_ranges();
        installed.store(handler, release);  // pairs with send_interrupt
    }
    installing_handlers.unlock();
    return 0;
}

bool is_interrupt_signal(int /*signal*/) noexcept { return false; }

bool may_interrupt(int signal) noexcept { return signal == default_interrupt_signal; }

void unblock_interrupt(int /*signal*/) noexcept {}

bool interrupt_comes(int /*signal*/) noexcept { return true; }

bool is_interrupt_handler(void (* /*handler*/)(int, void*, void*)) noexcept { return false; }

bool send_interrupt(int tid, int /*signal*/) noexcept {
    if (installed.load(acquire) == nullptr) return false;  // pairs with install_interrupt
    constexpr DWORD rights = THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT | THREAD_SET_CONTEXT;
    const DWORD kept_error = GetLastError();
    bool sent = false;
    if (HANDLE thread = OpenThread(rights, FALSE, static_cast<DWORD>(tid)); thread != nullptr) {
        sending.lock();
        if (SuspendThread(thread) != static_cast<DWORD>(-1)) {
            sent = divert(thread);
            ResumeThread(thread);
        }
        sending.unlock();
        CloseHandle(thread);
    }
    SetLastError(kept_error);
    return sent;
}

// The handler runs on the green thread's stack, with all registers saved.
void go_on_in(const interruption& /*at*/, void (*entry)()) noexcept { entry(); }

}  // namespace weft::detail::os

extern "C" void run_handle_diverted(uintptr_t sp) {
    using namespace weft::detail;
    const int kept_errno = errno;
    const DWORD kept_error = GetLastError();
    os::installed.load(acquire)({sp, nullptr});  // acquire: installed before any interrupt
    SetLastError(kept_error);
    errno = kept_errno;
}
