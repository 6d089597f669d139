// held.h: mutexes of the system that green threads hold: who leaves his OS thread while he does is told.
//
// The problem. A G locks a std::mutex and waits for a channel, or yields. The next G of the same OS thread locks the same mutex: the thread
// blocks, and with it, in the end, all. Or the G goes on on another thread and unlocks there what another thread has locked, which the
// system does not allow. Such a program works for years, and hangs one day.
//
// So locks are counted: the program is linked with --wrap=pthread_mutex_lock and so on (weft_check_mutexes in CMake), which leads all calls
// in the program's own code, in libraries that are linked statically, and in templates such as std::lock_guard through
// wrapped_mutexes.cc. A G that holds one has special::holds, which the switch looks at with all other special bits: so a program that is
// not linked so pays nothing.
//
// Rejected. A header with another std::mutex in it (finds what the program's author has written, and no library's mutexes). A preloaded
// library (one more thing to install; it also counts what libc does for itself). A count for each OS thread (a G may have come
// from another one).
//
// What is known of a G that holds mutexes lies in a table of fixed size, since a lock may be taken where nothing may be allocated. A G that
// finds no place in it is not watched.
//
// Locks: table_lock (leaf; never while another one is taken).
// Who:   the G itself.
// See:   docs/deadlocks.md
#pragma once

namespace weft::detail {

// The caller has locked mutex at site, or is about to unlock it. Nothing happens in a plain thread.
void note_locked(const void* mutex, const void* site) noexcept;
void note_unlocked(const void* mutex) noexcept;

}  // namespace weft::detail
