// held.h: reports a green thread that leaves its OS thread while it holds a system mutex.
//
// In a program linked for it (weft_check_mutexes in CMake), calls of pthread_mutex_lock and so on
// arrive at debug/wrapped_mutexes.cc. A G that holds a mutex has special::holds, which a switch
// checks with the other special bits. Other programs pay nothing.
//
// Rejected: docs/deadlocks.md; a count per OS thread, because Gs migrate.
//
// The table of holders has a fixed size, because a lock may be taken where allocation is forbidden.
// A G without a free entry is not watched.
//
// Locks:   table_lock (leaf; never taken with another).
// Threads: the G itself.
// See:     docs/deadlocks.md
#pragma once

namespace weft::detail {

struct G;

// Call after locking mutex; before unlocking it. pc: where the lock function was called; frame: its
// frame. No effect in a plain thread.
void note_locked(const void* mutex, const void* pc, const void* frame) noexcept;
void note_unlocked(const void* mutex) noexcept;

// The calling G has special::holds and is about to leave its M. frame: where its frames begin.
void report_held_mutex(const G& g, const void* frame) noexcept;

// fork.h, F3.
void free_held_lock() noexcept;

}  // namespace weft::detail
