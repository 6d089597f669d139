// exception_in_flight.h: the exception that unwinds the caller's stack, for reports.
//
// If a destructor that runs during unwinding ends the process, that exception is the cause. But the
// C++ runtime only counts exceptions in flight; std::current_exception() knows only caught ones.
//
// The frame whose destructors run holds the pointer in a register or a slot, to resume unwinding.
// So the callee-saved registers are spilled, and the stack is searched, innermost frame first, for
// an aligned, readable address with this C++ runtime's exception class and a plausible owner count,
// not caught. The last two exclude finished exceptions: the allocator overwrites a freed count.
//
// Rejected. Replacing __cxa_throw: a static library cannot always forward to the original. A record
// in what weft throws: the program's exceptions count too. The unwinder's state: gone while a
// destructor runs.
//
// See: the Itanium C++ ABI, exception handling, 2.2: the layout of an exception object, the same
//      for libstdc++ and libc++abi
#pragma once

namespace weft::detail {

// Returns the unwinder's header of the innermost exception that unwinds the caller's stack, which
// ends at high; nullptr: not found. May be wrong: only for a process that is about to end.
// Allocates nothing. Any thread. Requires: std::uncaught_exceptions() is not 0.
[[nodiscard]] void* find_exception_in_flight(const void* high) noexcept;

}  // namespace weft::detail
