// thread_maker.h: a thread that only makes threads (Go's template thread).
//
// It makes Ms while a pinned G runs, because a new thread inherits affinity, nice value, namespaces
// and timer slack, which the G may have changed. The first pin of a runtime starts it; if it cannot
// start, pinned Ms make threads themselves.
//
// Locks:   lock_ (leaf).
// Threads: any thread, except for end().
// See:     docs/pin.md
#pragma once

#include "base/atomic.h"
#include "base/ranked_lock.h"
#include "os/note.h"
#include "os/os.h"

namespace weft::detail {

class thread_maker {
public:
    thread_maker() = default;
    thread_maker(const thread_maker&) = delete;
    thread_maker& operator=(const thread_maker&) = delete;

    // Idempotent.
    void start() noexcept;

    // os::start_thread, done by the thread if it exists. Blocks until done.
    [[nodiscard]] int make(os::thread_id& id, void* (*body)(void*), void* argument) noexcept;

    // True while its thread is being made, or has not begun to run.
    [[nodiscard]] bool is_starting() const noexcept {
        return state_.load(acquire) != none && tid() == 0;  // pairs with start
    }

    // 0: no thread.
    [[nodiscard]] int tid() const noexcept { return tid_.load(acquire); }  // pairs with run

    // No thread may call make() from here on.
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
    os::thread_id thread_ = 0;  // valid if `there`
    atomic<int> tid_{0};
    note wanted_;  // the thread sleeps on it
    ranked_lock<lock_rank::leaf> lock_;
    // Guarded by lock_.
    order* orders_ = nullptr;
    bool ending_ = false;
};

}  // namespace weft::detail
