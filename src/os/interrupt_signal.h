// interrupt_signal.h: the signal that interrupts a green thread in marked code.
//
// One handler per process serves all signals that runtimes choose. A signal that we did not send
// goes to the previous handler.
//
// Threads: see each. See: context/interrupt.h, handoff/preempt.h
#pragma once

#include <csignal>
#include <cstdint>

#include <weft/detail/spin_lock.h>

#include "os/late_handlers.h"

namespace weft::detail::os {

struct fault;

// Ignored by default, and debuggers pass it through.
#if defined(SIGURG)
inline constexpr int default_interrupt_signal = SIGURG;
inline constexpr bool can_interrupt = !handlers_come_late;
#else
inline constexpr int default_interrupt_signal = 1;  // the system has no signals: only whether it is 0 matters
#if defined(_WIN32) && defined(__x86_64__)
inline constexpr bool can_interrupt = true;
#else
inline constexpr bool can_interrupt = false;
#endif
#endif
inline constexpr int largest_signal = 64;

struct interruption {
    uintptr_t sp;
    void* registers;  // the system's
};

// Held while a handler is put in front of another one: reading the current one and installing ours
// must be one step.
extern spin_lock installing_handlers;

// Installs handler for signal, once. Its stack: see context/interrupt.h. It returns false for
// signals that it has not sent. Returns 0 or an errno value.
[[nodiscard]] int install_interrupt(int signal, bool (*handler)(const interruption& at) noexcept) noexcept;

// ---- One delivery may stand for an interruption, a question (signals.h) and a sample
// (cpu_sampling.h), because a pending signal is not queued twice. So the handler in front serves
// all, and passes on no signal with our mark.

// Called in a handler. context: the system's.
void answer_if_asked(int signal, const void* context) noexcept;

// Whether a signal has the mark of a question. info: the system's.
[[nodiscard]] bool is_question(const void* info) noexcept;

// The same for the signal of a thread's timer.
void sample_if_due(const void* info, const void* context) noexcept;
[[nodiscard]] bool is_sample(const void* info) noexcept;

// Where the thread was interrupted. context: the system's.
[[nodiscard]] fault place_of(int signal, const void* context) noexcept;

[[nodiscard]] bool is_interrupt_handler(void (*handler)(int, void*, void*)) noexcept;

// Whether one of our runtimes sends that signal.
[[nodiscard]] bool is_interrupt_signal(int signal) noexcept;

// Whether signal may be chosen: it can be handled, and reports no faults.
[[nodiscard]] bool may_interrupt(int signal) noexcept;

// For the calling thread. Ms start with all signals blocked.
void unblock_interrupt(int signal) noexcept;

// Whether a signal to the calling thread would reach a handler now. Makes a system call, so signals
// sent before have been handled on return, if they arrive at all.
[[nodiscard]] bool interrupt_comes(int signal) noexcept;

// Returns false if it was not sent to thread tid.
[[nodiscard]] bool send_interrupt(int tid, int signal) noexcept;

// In the handler: continues the thread in entry (context/interrupt.h), unless it needs an alternate
// stack and has none. Requires: room below at.sp.
void go_on_in(const interruption& at, void (*entry)()) noexcept;

}  // namespace weft::detail::os
