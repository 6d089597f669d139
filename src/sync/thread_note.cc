// thread_note.cc: see thread_note.h.
#include "sync/thread_note.h"

#include <new>

#include <weft/detail/spin_lock.h>

#include "base/assert.h"

namespace weft::detail {

namespace {

constinit spin_lock free_lock;
constinit thread_note* free_notes = nullptr;  // guarded by free_lock

thread_note* take_note() {
    free_lock.lock();
    thread_note* n = free_notes;
    if (n != nullptr) free_notes = n->next;
    free_lock.unlock();
    if (n == nullptr) n = new (std::nothrow) thread_note;
    if (n == nullptr) fatal("no memory for what a plain thread waits with; wait once at its start, while there is some");
    return n;
}

// Gives the note back when the thread ends. Plain threads do not migrate, so a thread-local is safe here.
struct holder {
    thread_note* held = nullptr;

    ~holder() {
        if (held == nullptr) return;
        free_lock.lock();
        held->next = free_notes;
        free_notes = held;
        free_lock.unlock();
    }
};

}  // namespace

[[gnu::noinline]] thread_note& this_thread_note() noexcept {
    thread_local holder mine;
    if (mine.held == nullptr) mine.held = take_note();
    return *mine.held;
}

}  // namespace weft::detail
