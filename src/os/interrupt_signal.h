// interrupt_signal.h: the signal that interrupts a green thread in marked code.
//
// There is one handler per process, for all signals that runtimes choose. A signal that we did not
// send goes to the handler that was installed before.
//
// Threads: see each. See: context/interrupt.h, handoff/preempt.h
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>

#include "os/late_handlers.h"

namespace weft::detail::os {

// The default signal: SIGURG, which is ignored by default, and which debuggers pass through.
inline constexpr int default_interrupt_signal = 23;
inline constexpr int largest_signal = 64;

inline constexpr bool can_interrupt = !handlers_come_late;

// Where a signal has interrupted the calling thread.
struct interruption {
    uintptr_t sp;
    void* registers;  // the system's
};

// Held while a handler is put in front of another one: reading the current handler and installing
// the new one must be one step.
extern spin_lock installing_handlers;

// Installs handler for signal, once. It runs in a handler of the system: on the alternate stack
// where context/interrupt.h says so. It returns false for signals that it has not sent; these go to
// the previous handler. Returns 0 or an errno value.
[[nodiscard]] int install_interrupt(int signal, bool (*handler)(const interruption& at) noexcept) noexcept;

// ---- A pending signal is not queued twice: one delivery may stand for both an interruption and a
// question (signals.h). So the handler in front serves both, and signals marked as ours are never
// passed on.

// Answers if the calling thread is asked where it is. context: the system's. Called in a handler.
void answer_if_asked(int signal, const void* context) noexcept;

// Whether the signal carries the mark of a question. info: the system's.
[[nodiscard]] bool is_question(const void* info) noexcept;

// Whether handler is the one for interruptions.
[[nodiscard]] bool is_interrupt_handler(void (*handler)(int, void*, void*)) noexcept;

// Whether one of our runtimes sends that signal.
[[nodiscard]] bool is_interrupt_signal(int signal) noexcept;

// Whether signal may be chosen: not one that reports faults or cannot be handled.
[[nodiscard]] bool may_interrupt(int signal) noexcept;

// The calling thread accepts the signal from now on. (Ms start with all signals blocked.)
void unblock_interrupt(int signal) noexcept;

// Whether the signal, sent to the calling thread now, would reach a handler: neither blocked nor
// ignored. Makes a system call, so signals sent before have been handled on return, if they arrive
// at all.
[[nodiscard]] bool interrupt_comes(int signal) noexcept;

// Sends the signal to thread tid of this process. Returns false if it was not sent.
[[nodiscard]] bool send_interrupt(int tid, int signal) noexcept;

// In the handler: continues the thread in entry, as context/interrupt.h says, unless it needs an
// alternate stack and has none. Requires: room below at.sp.
void go_on_in(const interruption& at, void (*entry)()) noexcept;

}  // namespace weft::detail::os
