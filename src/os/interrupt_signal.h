// interrupt_signal.h: the signal that interrupts a green thread in marked code.
//
// One handler for the process, for as many signals as runtimes choose. A signal that is not ours (nobody of us has sent it) goes to the
// handler that was there before.
//
// Who: see each. See: context/interrupt.h, sched/preempt.h
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>

#include "os/late_handlers.h"

namespace weft::detail::os {

// What the system uses for it unless told otherwise: SIGURG, which is ignored by default, and which debuggers let pass.
inline constexpr int default_interrupt_signal = 23;
inline constexpr int largest_signal = 64;

inline constexpr bool can_interrupt = !handlers_come_late;

// Where a signal has stopped the calling thread.
struct interruption {
    uintptr_t sp;
    void* registers;  // the system's
};

// Held while a handler is put in front of another one: who looks which one is there, and then installs his, must be alone.
extern spin_lock installing_handlers;

// Installs handler for signal, once. It runs in a handler of the system: on the alternate stack where context/interrupt.h says so.
// Returns false for what it has not sent: then whoever was there before us has it. Returns 0 or an errno value.
[[nodiscard]] int install_interrupt(int signal, bool (*handler)(const interruption& at) noexcept) noexcept;

// ---- A signal that is pending already is not kept twice: one that comes may stand for an interruption and a question (signals.h) at once. So
// whichever handler is in front serves both, and what is marked as ours is never passed on to others.

// If the calling thread is asked where it is, it answers. context: the system's. In a handler.
void answer_if_asked(int signal, const void* context) noexcept;

// Whether it carries the mark of a question. info: the system's.
[[nodiscard]] bool is_question(const void* info) noexcept;

// Whether handler is that of interruptions.
[[nodiscard]] bool is_interrupt_handler(void (*handler)(int, void*, void*)) noexcept;

// Whether one of us sends that signal.
[[nodiscard]] bool is_interrupt_signal(int signal) noexcept;

// Whether signal may be chosen: not one of those that tell of faults, or cannot be handled.
[[nodiscard]] bool may_interrupt(int signal) noexcept;

// The calling thread takes it from now on. (Ms are started with all signals blocked.)
void unblock_interrupt(int signal) noexcept;

// Whether one that is sent to the calling thread now would come to a handler: it is neither blocked nor ignored. Makes a system call, so
// what was sent before, and comes at all, has come when this returns.
[[nodiscard]] bool interrupt_comes(int signal) noexcept;

// Sends it to the thread tid of this process. False: it was not sent.
[[nodiscard]] bool send_interrupt(int tid, int signal) noexcept;

// In the handler: the thread goes on in entry, as context/interrupt.h says, unless it has no alternate stack where one is needed. Requires:
// room below at.sp.
void go_on_in(const interruption& at, void (*entry)()) noexcept;

}  // namespace weft::detail::os
