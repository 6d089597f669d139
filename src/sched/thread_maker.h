// thread_maker.h: a thread that does nothing but make threads.
//
// A thread inherits from the one that makes it: affinity, nice value, namespaces, timer slack. A pinned G may have changed all that on
// its OS thread, on purpose, and the Ms that its pushes call for must not have it. So the first pin of a runtime starts this one, and
// Ms that are needed while a pinned G runs are made here. (Go's runtime has a template thread for the same reason.)
//
// If there was no thread to be had for it, pinned Ms make threads themselves.
//
// Locks: lock_ (leaf).
// Who:   any thread, but for end().
#pragma once

#include <weft/detail/spin_lock.h>

#include "base/atomic.h"
#include "os/note.h"
#include "os/os.h"

namespace weft::detail {

class thread_maker {
public:
    thread_maker() = default;
    thread_maker(const thread_maker&) = delete;
    thread_maker& operator=(const thread_maker&) = delete;

    // Starts the thread, if that has not been done.
    void start() noexcept;

    // As os::start_thread, made by the thread if there is one. Blocks until that is done.
    [[nodiscard]] int make(os::thread_id& id, void* (*body)(void*), void* argument) noexcept;

    // Whether its thread is being made, or has not begun.
    [[nodiscard]] bool is_starting() const noexcept {
        return state_.load(acquire) != none && tid() == 0;  // pairs with start
    }

    // Of its thread; 0 if there is none.
    [[nodiscard]] int tid() const noexcept { return tid_.load(acquire); }  // pairs with run

    // Ends the thread. Once nobody calls make() any more.
    void end() noexcept;

private:
    struct order {
        os::thread_id* id;
        void* (*body)(void*);
        void* argument;
        int error;
        note done;
        order* next;
    };

    static void* run(void* self) noexcept;

    static constexpr uint32_t none = 0;
    static constexpr uint32_t starting = 1;
    static constexpr uint32_t there = 2;

    atomic<uint32_t> state_{none};
    os::thread_id thread_ = 0;  // when there
    atomic<int> tid_{0};
    note wanted_;  // the thread sleeps here
    spin_lock lock_;
    // Guarded by lock_.
    order* orders_ = nullptr;
    bool ending_ = false;
};

}  // namespace weft::detail
