// process_watch.h: a descriptor that is readable when a child has ended, on macOS and FreeBSD: a
// queue of events of one process.
//
// Rejected: pdfork() of FreeBSD: it is a fork, which copies the tables of a large process.
//
// Threads: any thread.
#pragma once

namespace weft::detail::os {

// Requires: nothing else waits for the child yet. Returns minus errno's value on failure.
[[nodiscard]] int watch_process(int pid) noexcept;

}  // namespace weft::detail::os
