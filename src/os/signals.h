// signals.h: alternate signal stacks, and handlers that pass on foreign signals.
//
// A green thread that overflows its stack has no room to handle the fault. So every M has an
// alternate stack from the start, sized from AT_MINSIGSTKSZ (vector registers make it larger than
// SIGSTKSZ on some CPUs) and touched beforehand.
//
// Threads: the thread itself; install_fault_handler once per process.
#pragma once

#include <csignal>
#include <string_view>

#include "os/late_handlers.h"

namespace weft::detail::os {

// Memory for an alternate signal stack, for any thread; nullptr on failure. Made before the thread
// that needs it, so that lack of memory is reported to the thread's creator.
[[nodiscard]] void* map_alternate_stack() noexcept;

// Installs it for the calling thread. nullptr is allowed: without an alternate stack a stack
// overflow is not reported, and growing stacks do not grow.
void install_alternate_stack(void* memory) noexcept;

// Reverses both; called by the thread that has it installed, if any. Restores the thread's previous
// alternate stack. nullptr is allowed.
void remove_alternate_stack(void* memory) noexcept;

// Restores the signal mask of the program's thread that first started one of our threads. For a
// thread of ours that has become the only one of a new process.
void restore_signals() noexcept;

// What a fault handler may inspect.
struct fault {
    int signal;
    const void* address;  // that was accessed
    const void* pc;       // of the instruction
    const void* fp;       // frame pointer there
};

// Calls handler for SIGSEGV and SIGBUS, on the alternate stack. If it returns true, the instruction
// is retried; if false, the fault goes to the previous handler.
void install_fault_handler(bool (*handler)(const fault&)) noexcept;

// The number of the signal "QUIT", "SIGQUIT" or "3"; 0 if no such signal exists, it cannot be
// handled, or it reports a fault.
[[nodiscard]] int signal_number(std::string_view name) noexcept;

// Calls hook, which must be async-signal-safe, whenever signal comes, and then the previous
// handler, if any. The default action is not taken. Returns 0 or an errno value; EBUSY if another
// hook is installed. Cannot be undone.
[[nodiscard]] int call_on_signal(int signal, void (*hook)() noexcept) noexcept;

// ---- Asks another thread of the process what it is doing, by a signal (SIGURG, with a mark). The
// thread inspects itself in the handler. Other signals of that kind go to the previous handler.
// Preemption uses the same signal with another mark (interrupt_signal.h), so the order of the
// handlers does not matter.

inline constexpr bool can_ask = !handlers_come_late;

// From now on threads that have called, or call, take_questions() can be asked. Called once; does
// nothing if that is impossible.
void enable_questions() noexcept;
[[nodiscard]] bool questions_enabled() noexcept;

// In the child of a fork: resets the state, as no question is pending.
void forget_questions() noexcept;

// The calling thread may be asked once threads can be. A thread of ours unblocks the signal, which
// is ignored until then. A thread of the program unblocks it only if threads can already be asked,
// because the program may have blocked it on purpose.
void take_questions(bool is_ours) noexcept;

// Makes thread tid call look, with its position (address: its stack pointer). look must be
// async-signal-safe. One call at a time. Returns false if the thread has not done so in time, and
// will not.
[[nodiscard]] bool ask_thread(int tid,
                              void (*look)(void* closure, const fault& where) noexcept,
                              void* closure) noexcept;

}  // namespace weft::detail::os
