// held.h: reports a green thread that leaves its OS thread while it holds a system mutex.
//
// The problem. A G locks a std::mutex and waits for a channel, or yields. If the thread's next G
// locks the same mutex, the thread blocks, and in the end all do. Or the G resumes on another
// thread and unlocks what that thread has not locked, which the system forbids. Such a program may
// work for years, then hang.
//
// So locks are counted. Linking with --wrap=pthread_mutex_lock and so on (weft_check_mutexes in
// CMake) directs the program's calls, those of static libraries and templates such as
// std::lock_guard to debug/wrapped_mutexes.cc. A G that holds a mutex has special::holds, which a
// switch checks with the other special bits. Other programs pay nothing.
//
// Rejected. A header with its own std::mutex (misses libraries). A preloaded library (must be
// installed; counts libc's own locks). A count per OS thread (Gs migrate).
//
// Holders are recorded in a fixed-size table, because a lock may be taken where allocation is
// forbidden. A G without a free entry is not watched.
//
// Locks:   table_lock (leaf; never taken with another).
// Threads: the G itself.
// See:     docs/deadlocks.md
#pragma once

namespace weft::detail {

struct G;

// Call after locking mutex; before unlocking it. pc: where the lock function was called; frame: of that
// function. No effect in a plain thread.
void note_locked(const void* mutex, const void* pc, const void* frame) noexcept;
void note_unlocked(const void* mutex) noexcept;

// The calling G has special::holds and is about to leave its M. frame: where its frames begin.
void report_held_mutex(const G& g, const void* frame) noexcept;

// In a fork child, where the thread that held the lock does not exist.
void free_held_lock() noexcept;

}  // namespace weft::detail
