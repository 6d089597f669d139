// thread_note.h: what a plain thread sleeps on where a green thread parks.
//
// Notes go to a free list and are never freed (L5).
//
// Threads: the thread itself; wakers only call wakeup.wake().
#pragma once

#include <cstdint>

#include "os/note.h"

namespace weft::detail {

struct thread_note {
    note wakeup;
    uint32_t made_in = 0;  // fork_generation at last use
    thread_note* next = nullptr;
};

// For one wait; end_note_use() after it.
[[nodiscard]] thread_note& this_thread_note() noexcept;
void end_note_use() noexcept;

class thread_note_use {
public:
    thread_note_use() noexcept = default;

    ~thread_note_use() { end_note_use(); }

    thread_note_use(const thread_note_use&) = delete;
    thread_note_use& operator=(const thread_note_use&) = delete;

    thread_note& mine = this_thread_note();
};

}  // namespace weft::detail
