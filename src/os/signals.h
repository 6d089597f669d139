// signals.h: alternate signal stacks, and handlers that pass on what is not theirs.
//
// A green thread that overflows its stack faults with no stack to handle the fault on, so every M has an alternate one from the
// start, sized from AT_MINSIGSTKSZ (vector registers make it larger than SIGSTKSZ on some CPUs) and touched beforehand.
//
// Who: the thread itself; install_fault_handler once per process.
#pragma once

#include <csignal>
#include <string_view>

#include "os/late_handlers.h"

namespace weft::detail::os {

// Memory for an alternate signal stack, for any thread; nullptr if there is none. Made before the thread that needs it: then the lack of memory
// is reported to whoever starts the thread.
[[nodiscard]] void* map_alternate_stack() noexcept;

// Makes it the calling thread's. nullptr is allowed: without an alternate stack a stack overflow is not reported, and growing stacks do not
// grow.
void install_alternate_stack(void* memory) noexcept;

// The reverse of both; by the thread that has it, if one has. Puts back what the thread had before. nullptr is allowed.
void remove_alternate_stack(void* memory) noexcept;

// Blocks the signals that were blocked in the program's thread that first started one of ours. For a thread of ours that has become the
// only one of a new process.
void restore_signals() noexcept;

// What a fault handler may look at.
struct fault {
    int signal;
    const void* address;  // that was accessed
    const void* pc;       // of the instruction
    const void* fp;       // frame pointer there
};

// Calls handler for SIGSEGV and SIGBUS, on the alternate stack. If it returns true, the instruction is tried again; if false, the fault goes
// to the handler that was there before us.
void install_fault_handler(bool (*handler)(const fault&)) noexcept;

// "QUIT", "SIGQUIT" or "3": the signal's number; 0 if there is none of that name, or it cannot be handled, or tells of a fault.
[[nodiscard]] int signal_number(std::string_view name) noexcept;

// Calls hook, which has to be fit for a signal handler, whenever signal comes; then the handler that was there before us, if one was. Its
// default action is not taken. Returns 0 or an errno value; EBUSY if another hook is there. Not undone.
[[nodiscard]] int call_on_signal(int signal, void (*hook)() noexcept) noexcept;

// ---- What another thread of the process is doing. It is asked by a signal (SIGURG, with a mark), and looks at itself in the handler. Others
// of that kind go to who was there before; preemption uses the same signal, with another mark (interrupt_signal.h). So it does not matter
// whose handler is in front.

inline constexpr bool can_ask = !handlers_come_late;

// From now on threads can be asked that have called, or call, take_questions(). Once; nothing happens if that cannot be.
void enable_questions() noexcept;
[[nodiscard]] bool questions_enabled() noexcept;

// In the child of a fork: nobody asks.
void forget_questions() noexcept;

// The calling thread may be asked from the moment when threads can be. For threads of ours: it unblocks the signal, which is ignored until
// then. A thread of the program unblocks it only if threads can be asked already: the program may have blocked it for a purpose.
void take_questions(bool is_ours) noexcept;

// Lets thread tid call look, with where it is (address: its stack pointer), fit for a signal handler. One at a time. False: it has not done
// so in time, and will not any more.
[[nodiscard]] bool ask_thread(int tid,
                              void (*look)(void* closure, const fault& where) noexcept,
                              void* closure) noexcept;

}  // namespace weft::detail::os
