// exception_in_flight.h: the exception that unwinds the caller's stack, for reports.
//
// The problem. A destructor that runs while an exception unwinds the stack may end the process,
// because what it destroys is still in use. The report must name the exception, which is the cause.
// But the C++ runtime counts exceptions in flight and keeps no pointer to them;
// std::current_exception() knows only those that a handler has caught.
//
// The frame whose destructors run has the pointer in a register or a slot, because it needs it to
// resume unwinding. So the callee-saved registers are spilled, and the stack is searched from the
// innermost frame outwards for a pointer to an exception object. That is an aligned, readable
// address with the exception class of this C++ runtime and a plausible owner count, not caught by a
// handler. The last two exclude finished exceptions: the allocator overwrites the count of a freed
// one.
//
// Rejected:
// - Replacing __cxa_throw: a static library cannot forward to the original in all ways of linking.
// - A record in what weft throws: the program's exceptions count too.
// - The unwinder's state: it is gone while a destructor runs.
//
// See: the Itanium C++ ABI, exception handling, 2.2: the layout of an exception object, the same
//      for libstdc++ and libc++abi
#pragma once

namespace weft::detail {

// Returns the unwinder's header of the innermost exception that unwinds the caller's stack, which
// ends at high; nullptr if none is found. Only for a process that is about to end, because the
// result may be wrong. Reads memory, allocates nothing. Any thread. Requires:
// std::uncaught_exceptions() is not 0.
[[nodiscard]] void* find_exception_in_flight(const void* high) noexcept;

}  // namespace weft::detail
