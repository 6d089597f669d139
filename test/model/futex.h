// futex.h: the kernel's futex, for models.
//
// Reading the word and queueing the thread are one step with respect to wakes. A late wake-up only
// finds the address. Sleepers may return without a reason. A futex orders no memory accesses, so
// its users must.
//
// See: test/model/note_model.cc
#pragma once

#include "model.h"
#include "os/os.h"

namespace model {

// The threads that sleep in the kernel. All suites share it; each clears it before it starts.
struct futex_table {
    static constexpr int size = 4;
    const void* address[size];
    rl::thread_id_t thread[size];
    bool woken_for_nothing;  // at most once in an execution
    const void* gone;        // memory that is gone, and may not be woken either
    std::size_t gone_size;

    void clear() { std::memset(this, 0, sizeof(*this)); }
};

inline futex_table futexes;

}  // namespace model

namespace weft::detail::os {

bool futex_wait(atomic<uint32_t>& word, uint32_t expected, int64_t deadline_ns) noexcept {
    using model::futexes;
    rl::context& c = rl::ctx();
    // An exchange that changes nothing reads the newest value. The next scheduling point is the
    // sleep itself.
    if (word.fetch_add(0, relaxed) != expected) return true;
    int at = 0;
    while (futexes.address[at] != nullptr) ++at;
    futexes.address[at] = &word;
    futexes.thread[at] = c.current_thread();
    const bool may_be_spurious = !futexes.woken_for_nothing;
    const rl::unpark_reason why = c.park_current_thread(deadline_ns != never, may_be_spurious, false, $);
    if (why != rl::unpark_reason_normal) futexes.address[at] = nullptr;
    if (why == rl::unpark_reason_spurious) futexes.woken_for_nothing = true;
    return why != rl::unpark_reason_timeout;
}

void futex_wake_one(atomic<uint32_t>& word) noexcept {
    using model::futexes;
    const auto* address = reinterpret_cast<const std::byte*>(&word);
    rl::context& c = rl::ctx();
    c.sched();  // the wake-up may come at any later time
    const auto* gone = static_cast<const std::byte*>(futexes.gone);
    RL_ASSERT(gone == nullptr || address < gone || address >= gone + futexes.gone_size);
    for (int at = 0; at < model::futex_table::size; ++at) {
        if (futexes.address[at] != address) continue;
        futexes.address[at] = nullptr;
        c.unpark_thread(futexes.thread[at], false, $);
        return;
    }
}

}  // namespace weft::detail::os
