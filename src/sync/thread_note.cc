// thread_note.cc: see thread_note.h.
#include "sync/thread_note.h"

#include <new>
#include <utility>

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
    if (n == nullptr)
        fatal("no memory for what a plain thread waits with; wait once at its start, while there is some");
    return n;
}

// Trivial, so that it can be used even while the thread's other thread-locals are destroyed.
constinit thread_local thread_note* mine = nullptr;

// Gives the note back when the thread ends. Plain threads do not migrate, so a thread-local is safe here. Who waits later than that, in
// the destructor of another thread-local, takes a note again, and keeps it.
struct giver {
    bool armed = false;

    ~giver() {
        thread_note* given = std::exchange(mine, nullptr);
        if (given == nullptr) return;
        free_lock.lock();
        given->next = free_notes;
        free_notes = given;
        free_lock.unlock();
    }
};

}  // namespace

[[gnu::noinline]] thread_note& this_thread_note() noexcept {
    if (mine == nullptr) {
        thread_local giver at_end;
        at_end.armed = true;
        mine = take_note();
    }
    return *mine;
}

}  // namespace weft::detail
