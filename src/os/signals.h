// signals.h: alternate signal stacks, and handlers that pass on foreign signals.
//
// Every M has an alternate stack, because a green thread that overflows its own has no room to
// handle the fault. Its size follows AT_MINSIGSTKSZ, because vector registers may need more than
// SIGSTKSZ.
//
// Threads: the thread itself; install_fault_handler once per process. See: docs/signals.md
#pragma once

#include <csignal>
#include <string_view>

#include "os/late_handlers.h"

namespace weft::detail::os {

// Called by the creator of the thread that needs it, which can report a failure: nullptr.
[[nodiscard]] void* map_alternate_stack() noexcept;

// For the calling thread. With nullptr, overflows are not reported, and stacks do not grow.
void install_alternate_stack(void* memory) noexcept;

// Whether address lies in that stack. Allows nullptr.
[[nodiscard]] bool is_on_alternate_stack(const void* memory, const void* address) noexcept;

// Unmaps it, and restores the previous one if the calling thread has it installed. Allows nullptr.
void remove_alternate_stack(void* memory) noexcept;

// For a thread of ours that is the only one of a forked child: restores the mask of the program's
// thread that started the first of ours.
void restore_signals() noexcept;

struct fault {
    int signal;
    const void* address;  // accessed
    const void* pc;
    const void* fp;
    const void* return_register =
        nullptr;  // of a position: where a function without a frame returns to, if in a register
};

// Handles SIGSEGV and SIGBUS, on the alternate stack. If handler returns true, the instruction is
// retried, else the fault goes to the previous handler.
void install_fault_handler(bool (*handler)(const fault&)) noexcept;

// The number of "QUIT", "SIGQUIT" or "3"; 0 if the name is unknown or the signal cannot be hooked,
// such as SIGURG.
[[nodiscard]] int signal_number(std::string_view name) noexcept;

// Calls hook, which must be async-signal-safe, before the previous handler; no default action is
// taken. Returns 0 or an errno value; EBUSY if another hook is installed. Cannot be undone.
[[nodiscard]] int call_on_signal(int signal, void (*hook)() noexcept) noexcept;

// ---- Asks another thread what it is doing, by SIGURG with a mark. Other signals go to the
// previous handler. Preemption uses another mark (interrupt_signal.h), so the handlers may be in
// any order.

inline constexpr bool can_ask = !handlers_come_late;

// Called once. Threads that have called, or call, take_questions() can then be asked if can_ask.
void enable_questions() noexcept;
[[nodiscard]] bool questions_enabled() noexcept;

// In the child of a fork: frees locks that a thread of the parent may have held.
void forget_questions() noexcept;

// The calling thread unblocks the signal; a thread of the program only if questions are enabled,
// because it may have blocked the signal on purpose.
void take_questions(bool is_ours) noexcept;

// Makes thread tid call look, which must be async-signal-safe, with its position (address: its
// stack pointer). Calls take turns. Returns false if the thread has not done so in time, and will
// not.
[[nodiscard]] bool ask_thread(int tid,
                              void (*look)(void* closure, const fault& where) noexcept,
                              void* closure) noexcept;

}  // namespace weft::detail::os
