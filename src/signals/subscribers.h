// subscribers.h: from a signal's handler to the channels of those who want to hear of it.
//
// The problem. A handler runs anywhere, between any two instructions: it may take no lock, allocate nothing, and so not send to a channel. And
// it must reach a green thread although every thread of the runtime may be asleep, in the poller at best.
//
//   S1  the handler sets the signal's bit in pending, and makes the event's descriptor readable
//   S2  the thread that polls finds the descriptor (event_source.h): makes it unreadable
//   S3  under the lock it takes all of pending, and offers each signal to the channel of each subscriber that wants it. Full: dropped for that one
//
// A signal whose bit is set after S3 has taken pending finds the descriptor unreadable, and makes it readable again. So none is
// lost, but that two of a kind between two visits are one, as they are in the system.
//
// Rejected. signalfd: the signal would have to be blocked in every thread, also in those that are not ours, and in programs that are started.
// A pipe with the number: it can be full, and what is dropped then is chance. A thread in sigwait: a thread, and the same blocking.
//
// Invariants: I1. A signal is caught while a linked subscriber wants it, and not by us otherwise.
//             I2. A signal that was caught while a subscriber was linked and wanted it is offered to that subscriber. So before a subscriber
//             leaves, or wants less, its signals are released, and then what is pending is delivered. (golang/go 14571 is the same fault in Go.)
// Ordering:   R1 (a bit is set) pairs with A1 (pending is taken).
// Locks:      lock_, then that of a channel; others are made ready under it.
// Who:        see each.
// See:        docs/signals.md
#pragma once

#include <cstdint>

#include <weft/chan.h>
#include <weft/detail/spin_lock.h>

#include "base/atomic.h"
#include "sched/event_source.h"

namespace weft::detail {

// In a subscription. Guarded by signal_source's lock.
class signal_subscriber {
public:
    signal_subscriber(std::size_t capacity, uint64_t mask) : wanted(mask), channel(capacity) {}

    uint64_t wanted;  // bits of signals, from 0 for signal 1
    signal_subscriber* next = nullptr;
    bool linked = false;
    const chan<int> channel;
};

class signal_source final : public standing_source {
public:
    [[nodiscard]] static signal_source& the();

    // Any thread. Returns 0 or an errno value; then nothing has changed.
    [[nodiscard]] int add(signal_subscriber& s) noexcept;

    // Any thread. Delivers what was caught before; then s is not touched any more. Its channel is not closed.
    void remove(signal_subscriber& s) noexcept;

    // Any thread. Delivers what was caught before; then no subscriber gets these signals, which are ignored, or handled as before. Returns 0 or an errno value.
    [[nodiscard]] int take_back(uint64_t signals, bool then_ignored) noexcept;

    // Whether somebody waits for a signal. Any thread.
    [[nodiscard]] bool is_awaited() noexcept;

    [[nodiscard]] waiter* collect() noexcept override;
    [[nodiscard]] bool is_wanted() noexcept override;
    void forget() noexcept override;

private:
    signal_source() noexcept : standing_source(source_kind::signals) {}

    // The handler: S1.
    static void arrived(int signal) noexcept;

    [[nodiscard]] int open() noexcept;
    [[nodiscard]] uint64_t all_wanted_locked() const noexcept;
    [[nodiscard]] int catch_locked(uint64_t wanted) noexcept;
    void deliver_locked() noexcept;

    static atomic<uint64_t> pending;
    static atomic<int> event;  // the descriptor; -1: there is none

    spin_lock lock_;
    // Guarded by lock_.
    signal_subscriber* first_ = nullptr;
    uint64_t caught_ = 0;
    uint64_t ignored_ = 0;
};

// Whether somebody waits for a signal: then he may be woken from outside. Any thread.
[[nodiscard]] bool signals_are_awaited() noexcept;

}  // namespace weft::detail
