// exception_in_flight.h: the exception that unwinds the caller's stack, for reports.
//
// The problem. A destructor that runs while an exception unwinds the stack ends the process, because what it destroys is still used. The
// report has to name the exception, which is the cause. But the C++ runtime counts exceptions in flight and keeps no pointer to them:
// std::current_exception() knows only those that a handler has caught.
//
// The frame whose destructors run has the pointer, in a register or a slot of its own: it needs it to resume unwinding. So the callee-saved
// registers are spilled, and the stack is searched from the innermost frame outwards for a pointer to an exception object: an aligned
// address that can be read, with the exception class of this C++ runtime, with a plausible count of owners, and that no handler has
// caught. The last two exclude exceptions that are over: the allocator overwrites the count of a freed one.
//
// Rejected. Replacing __cxa_throw: a static library cannot forward to the original in all ways of linking. A record in what weft throws: the
// exceptions of the program count as well. The unwinder's state: nothing of it is left while a destructor runs.
//
// See: the Itanium C++ ABI, exception handling, 2.2: the layout of an exception object, the same for libstdc++ and libc++abi
#pragma once

namespace weft::detail {

// The unwinder's header of the innermost exception that unwinds the caller's stack, which ends at high; nullptr if none is found.
// Requires: std::uncaught_exceptions() is not 0. Only for a process that is about to end: it may be mistaken. Reads memory, allocates
// nothing. Any thread.
[[nodiscard]] void* find_exception_in_flight(const void* high) noexcept;

}  // namespace weft::detail
