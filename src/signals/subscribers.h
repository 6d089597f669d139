// subscribers.h: delivers signals from the handler to the channels of subscribers.
//
// A handler must take no lock and allocate nothing, so it cannot send to a channel.
//
//   S1  the handler sets the signal's bit in pending, and makes the event's descriptor readable
//   S2  the thread that polls finds the descriptor (event_source.h) and makes it unreadable
//   S3  under the lock it takes all of pending, and offers each signal to the channel of each
//       subscriber that wants it; a full channel drops it
//
// A bit that is set after S3 has taken pending makes the descriptor readable again, so none is
// lost.
//
// Rejected, besides docs/signals.md: a pipe with the number, which can be full.
//
// Invariants: I1. We catch a signal exactly while a linked subscriber wants it.
//             I2. A signal that was caught while a linked subscriber wanted it is offered to that
//                 subscriber. So before a subscriber leaves, or wants fewer signals, those are
//                 released, and then pending is delivered.
// Ordering:   R1 (a bit is set) pairs with A1 (pending is taken).
// Locks:      lock_, then that of a channel; other threads are made ready under it.
// Threads:    add, remove, take_back: any; arrived: the handler; the others: event_source.h.
// See:        docs/signals.md
#pragma once

#include <cstdint>

#include <weft/chan.h>
#include <weft/detail/spin_lock.h>

#include "base/atomic.h"
#include "netpoll/event_source.h"

namespace weft::detail {

// Guarded by signal_source's lock.
class signal_subscriber {
public:
    signal_subscriber(std::size_t capacity, uint64_t mask) : wanted(mask), channel(capacity) {}

    uint64_t wanted;  // bits, from 0 for signal 1
    signal_subscriber* next = nullptr;
    bool linked = false;
    const chan<int> channel;
};

class signal_source final : public standing_source {
public:
    [[nodiscard]] static signal_source& the();

    // Returns 0 or an errno value; then nothing has changed.
    [[nodiscard]] int add(signal_subscriber& s) noexcept;

    // Delivers what was caught earlier; afterwards s is not touched. Does not close its channel.
    void remove(signal_subscriber& s) noexcept;

    // Delivers what was caught earlier. Afterwards no subscriber gets these signals; they are
    // ignored, or handled as before. Returns 0 or an errno value.
    [[nodiscard]] int take_back(uint64_t signals, bool then_ignored) noexcept;

    [[nodiscard]] waiter* collect() noexcept override;
    [[nodiscard]] bool is_wanted() noexcept override;
    [[nodiscard]] bool is_awaited() noexcept override;
    void forget() noexcept override;

private:
    signal_source() noexcept : standing_source(source_kind::signals) {}

    // S1.
    static void arrived(int signal) noexcept;

    [[nodiscard]] int open() noexcept;
    [[nodiscard]] uint64_t all_wanted_locked() const noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] int catch_locked(uint64_t wanted) noexcept WEFT_REQUIRES(lock_);
    void deliver_locked() noexcept WEFT_REQUIRES(lock_);

    static atomic<uint64_t> pending;
    static atomic<int> event;  // the descriptor; -1: not open

    spin_lock lock_;
    // Guarded by lock_.
    signal_subscriber* first_ WEFT_GUARDED_BY(lock_) = nullptr;
    uint64_t caught_ WEFT_GUARDED_BY(lock_) = 0;
    uint64_t ignored_ WEFT_GUARDED_BY(lock_) = 0;
};

}  // namespace weft::detail
