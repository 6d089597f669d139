// symbol_service.h: the process that finds names for a report.
//
// Problem. A report is wanted when the program is broken: in a signal handler, on a stack that has
// overflowed, while another thread holds malloc's lock. Names and lines are in files that must be
// read, parsed and demangled, which needs memory, locks, and code that may itself fail.
//
// So a child process does it, and the program only writes addresses to a pipe and reads lines from
// another, with a time limit (symbolizer.h). The child executes the program's own file once more.
// There, before main and before the program's own objects are made, a constructor of this library
// sees the variable in the environment that only symbolizer.cc sets, answers requests until the
// pipe ends, and exits.
//
// Rejected: A child by fork that does not execute a file: it copies the page tables of a large
//           process, and inherits locks that other threads hold.
// Rejected: addr2line, or a program of our own: it must be installed where the program runs.
// Rejected: A child that is forked early: it stays for the life of each program, and its end is
//           reported to programs that wait for any child.
//
// A filter of system calls that kills what it forbids, such as execve, kills the child only.
//
// A program that loads the library with dlopen has no such constructor at its start, so it must not
// be executed: os::runs_at_start() says so. Its reports have the names that the dynamic linker
// knows.
//
// Requests, one per line:
//     <address in the file, hexadecimal> <path; nothing: the program's own file>
// Answers: one line per frame, innermost first, with tabs between the fields, then an empty line.
//     <kind> <i: inlined, else -> <function> <file, may be empty> <line>
//
// Constructors of libraries that the program needs run in the child, too, before that of weft.
//
// The child ends with its input, so it does not outlive the program. It is not a child in the sense
// of wait(), which the program may call for any of its children (os::process_spawn_apart).
#pragma once

#include <cstddef>

namespace weft::detail::symbol_service {

// The child starts no other program, so none inherits the variable.
inline constexpr char variable[] = "WEFT_SYMBOL_SERVICE";

// No line of an answer is longer, with its end.
inline constexpr std::size_t longest_line = 1024;

// Whether the program's file may be executed as the service. (The call also makes a linker take the
// constructor from a static library.)
[[nodiscard]] bool can_start() noexcept;

// Answers requests until the input ends.
void serve(int input, int output);

}  // namespace weft::detail::symbol_service
