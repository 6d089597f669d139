// thread_note.h: what a plain thread sleeps on where a green thread parks.
//
// Type-stable: a waker may access a note after the sleeper has exited. When its thread ends, a note
// goes to a free list and is never freed.
//
// Threads: the thread itself; wakers only call told.wake().
#pragma once

#include <cstdint>

#include "os/note.h"

namespace weft::detail {

struct thread_note {
    note told;
    uint32_t made_in = 0;  // fork_generation at last use
    thread_note* next = nullptr;
};

// The calling plain thread's note, for one wait; end_note_use() after it.
[[nodiscard]] thread_note& this_thread_note() noexcept;
void end_note_use() noexcept;

// Both, as a scope.
class thread_note_use {
public:
    thread_note_use() noexcept = default;

    ~thread_note_use() { end_note_use(); }

    thread_note_use(const thread_note_use&) = delete;
    thread_note_use& operator=(const thread_note_use&) = delete;

    thread_note& mine = this_thread_note();
};

}  // namespace weft::detail
