// reaper.h: reaps programs without waiters, which would otherwise stay zombies.
//
// Their descriptors are in a set, which is an event source (event_source.h): the polling thread
// makes the system forget those that have ended. Without descriptors the numbers are checked when
// another program is started or left.
//
// Rejected: forking twice, so that init reaps (the program would have another parent); SA_NOCLDWAIT
// (it affects the whole process).
//
// Threads: any thread.
// See: docs/processes.md
#pragma once

namespace weft::detail {

// Takes over the child pid. descriptor: the child's, owned; or -1.
void reap_later(int descriptor, int pid) noexcept;

// Checks the children known only by number.
void reap_known() noexcept;

}  // namespace weft::detail
