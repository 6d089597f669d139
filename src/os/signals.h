// signals.h: alternate signal stacks, and handlers that pass on what is not theirs.
//
// A green thread that overflows its stack faults with no stack to handle the fault on, so every M has an alternate one from the
// start, sized from AT_MINSIGSTKSZ (vector registers make it larger than SIGSTKSZ on some CPUs) and touched beforehand.
//
// Who: the thread itself; install_fault_handler once per process.
#pragma once

#include <csignal>

namespace weft::detail::os {

// Gives the calling thread an alternate signal stack. Returns a handle for remove; nullptr if none could be had, which
// only costs the report of a stack overflow.
[[nodiscard]] void* install_alternate_stack() noexcept;

// Puts back what the thread had before.
void remove_alternate_stack(void* handle) noexcept;

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

}  // namespace weft::detail::os
