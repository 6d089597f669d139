// thread_note.h: what a plain OS thread sleeps on when a green thread would park.
//
// Notes are type-stable: whoever wakes a thread touches the note after the sleeper may have seen the wake and ended, so a note
// goes to a free list when its thread ends and is never freed.
//
// Who: the thread itself; wakers only call told.wake().
#pragma once

#include <cstdint>

#include "os/note.h"

namespace weft::detail {

struct thread_note {
    note told;
    uint32_t made_in = 0;  // fork_generation, when it was last used
    thread_note* next = nullptr;
};

// The calling plain thread's note, for one wait, and what is to be called after that.
[[nodiscard]] thread_note& this_thread_note() noexcept;
void end_note_use() noexcept;

// Both, in a scope.
class thread_note_use {
public:
    thread_note_use() noexcept = default;

    ~thread_note_use() { end_note_use(); }

    thread_note_use(const thread_note_use&) = delete;
    thread_note_use& operator=(const thread_note_use&) = delete;

    thread_note& mine = this_thread_note();
};

}  // namespace weft::detail
