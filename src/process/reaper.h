// reaper.h: reaps programs without waiters, which would otherwise stay zombies.
//
// Their descriptors are in a set that becomes readable when one of them has ended. The set is an
// event source (event_source.h): the polling thread makes the system forget those that have ended.
// So it needs no thread and no SIGCHLD handler. Without a runtime, the outside poller serves it.
//
// Without descriptors (see child.h) the numbers are kept and checked whenever another program is
// started or left. Until then a zombie stays.
//
// Rejected: Forking twice, so that init reaps. The program would have another parent, and cost two
//           starts.
// Rejected: SA_NOCLDWAIT. It affects the whole process, whose other parts also wait for children.
//
// Threads: any thread.
// See: docs/processes.md
#pragma once

namespace weft::detail {

// Takes over the child pid. descriptor: that of the child, owned; or -1.
void reap_later(int descriptor, int pid) noexcept;

// Checks the children that are known only by number.
void reap_known() noexcept;

}  // namespace weft::detail
