// headroom_windows.h: how a stack that has no room left can be handled on Windows.
//
// Problem. Windows has no alternate signal stack: the system puts the report of a fault, some
// kilobytes of registers, on the stack of the thread that has caused it, and calls handlers there.
// On a stack without room it ends the process without a word. And its own way to grow stacks knows
// only one stack for each thread: where the thread information block (TIB) says.
//
//      low │ inaccessible … │ headroom: 3 pages │ guard page │ usable …………… │ high
//                           └──────────── stack_headroom ────┘
//
// 1. A touch of the guard page (PAGE_GUARD) raises an exception once, and makes the page
//    accessible.
// 2. The system reports it on the guard page and the headroom, which are committed.
// 3. Our handler (signals_windows.cc) moves to an alternate stack of the thread, and commits more
//    pages with a new guard page and headroom below them, or reports an overflow.
//
// The TIB has the stack's real bounds, because the unwinder refuses frames outside. Its
// DeallocationStack is above all addresses, so that the system takes no guard page for one that it
// has made itself (context/context_windows_x86_64.S).
//
// Functions with large frames touch each page in order, by probes that the compiler makes; those of
// system libraries begin at the TIB's StackLimit. So none steps over the guard page, unless its
// frame is on a stack that another thread has grown.
//
// Rejected:
// - PAGE_NOACCESS: the fault stays, and leaves no room for its own report.
// - Growth by the system: it wants the bounds in the TIB of one reservation for each stack, and
//   gives up the last 8 KiB, in which a report with a backtrace has no room.
// - All pages committed: each green thread would be charged 256 KiB.
//
// Threads: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail::os {

inline constexpr std::size_t headroom_page = 4096;  // of every processor on which Windows runs
inline constexpr std::size_t stack_headroom = 4 * headroom_page;

// The lowest usable address after the latest growth by this thread.
extern thread_local constinit uintptr_t grown_to;

}  // namespace weft::detail::os
