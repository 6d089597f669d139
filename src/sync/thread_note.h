// thread_note.h: what a plain OS thread sleeps on when a green thread would park.
//
// Notes are type-stable: whoever wakes a thread touches the note after the sleeper may have seen the wake and ended, so a note
// goes to a free list when its thread ends and is never freed.
//
// Who: the thread itself; wakers only call told.wake().
#pragma once

#include "os/note.h"

namespace weft::detail {

struct thread_note {
    note told;
    thread_note* next = nullptr;
};

// The calling plain thread's note.
[[nodiscard]] thread_note& this_thread_note() noexcept;

}  // namespace weft::detail
