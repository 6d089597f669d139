// thread_note.cc: see thread_note.h.
#include "wait/thread_note.h"

#include <new>
#include <utility>

#include <weft/detail/spin_lock.h>

#include "base/assert.h"
#include "base/generation.h"
#include "context/sanitizer.h"
#include "sched/switch_hooks.h"

namespace weft::detail {

namespace {

constinit spin_lock free_lock;
constinit thread_note* free_notes = nullptr;  // guarded by free_lock

thread_note* take_note() {
    free_lock.lock();
    thread_note* n = free_notes;
    if (n != nullptr) free_notes = n->next;
    free_lock.unlock();
    if (n == nullptr) {
        n = new (std::nothrow) thread_note;
        if (n != nullptr) is_internal(n, sizeof(*n));
    }
    if (n == nullptr)
        fatal(
            "no memory for the note on which a plain thread waits; block once at the start of the thread, when there "
            "is memory");
    return n;
}

// Trivial, so usable while other thread_locals are destroyed.
constinit thread_local thread_note* mine = nullptr;
constinit thread_local bool thread_ends = false;

void give_back() noexcept {
    thread_note* given = std::exchange(mine, nullptr);
    if (given == nullptr) return;
    free_lock.lock();
    given->next = free_notes;
    free_notes = given;
    free_lock.unlock();
}

struct giver {
    bool armed = false;

    ~giver() {
        thread_ends = true;
        give_back();
    }
};

}  // namespace

void forget_thread_notes() noexcept {
    free_notes = nullptr;
    free_lock.reset_after_fork();
}

[[gnu::noinline]] thread_note& this_thread_note() noexcept {
    if (is_in_hook()) fatal_in_hook("waited");
    if (mine == nullptr) {
        if (!thread_ends) {
            thread_local giver at_end;
            at_end.armed = true;
        }
        mine = take_note();
    }
    mine->made_in = fork_generation.load(relaxed_alone);
    return *mine;
}

// In destructors of thread_locals that run after ours, each wait returns its note.
[[gnu::noinline]] void end_note_use() noexcept {
    if (thread_ends) give_back();
}

}  // namespace weft::detail
