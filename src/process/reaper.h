// reaper.h: programs that nobody waits for, and that must not stay behind as zombies when they end.
//
// Their descriptors are in a set, which the system makes readable when one of them has ended, and which is a source of events (event_source.h):
// whoever polls finds it, and has the system forget those that have ended. So there is no thread for it, nor a handler of SIGCHLD; a process
// without a runtime has the one of the outside poller.
//
// Where there are no descriptors (see child.h) the numbers are kept, and looked after whenever another program is started, or left: until
// then a zombie stays.
//
// Rejected. Forking twice, so that init reaps: the program would have another parent, and starting it would cost two. SA_NOCLDWAIT: it
// is the whole process's, whose other parts wait for children, too.
//
// Who: any thread.
// See: docs/processes.md
#pragma once

namespace weft::detail {

// The child pid is nobody's from now on. descriptor: that of it, owned; or -1.
void reap_later(int descriptor, int pid) noexcept;

// Looks after those that are only known by number.
void reap_known() noexcept;

}  // namespace weft::detail
