// note.h: one thread, an M or a plain thread, sleeps here until it is notified.
//
// One word: 0 idle, 1 notified, 2 asleep, 3 elsewhere. wake() may come before, during or after sleep().
// No notification is lost, and the system is called only if the thread is really asleep. Spurious
// returns of the futex are absorbed here.
//
// Elsewhere: the sleeper also waits for something else, in another way (an M in its poller), and
// must be woken in that way. It announces this before the wait and asks afterwards. A notifier is
// told that the sleeper is elsewhere and must fetch it. A notification in between is not lost,
// provided that a sleeper that is fetched before it waits does not wait.
//
// Invariants: I1. There is one sleeper.
//             I2. After wake()'s store the sleeper may be gone. Only the address is used then, so a
//                 note must live in type-stable memory.
// Ordering:   R1 (wake) pairs with A1 (the sleeper sees it): what was written before wake() is
//             visible after sleep().
// Threads:    reset and sleep: the owner; wake: any thread.
// See:        docs/idle.md, test/model/note_model.cc
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "os/os.h"

namespace weft::detail {

class note {
public:
    // Requires: no other thread has the note yet.
    void reset() noexcept { word_.store(idle, relaxed); }  // relaxed: handing it over publishes it

    // Not for a sleeper that goes elsewhere.
    void wake() noexcept { static_cast<void>(notify()); }

    // As wake(). Returns true if the sleeper is elsewhere and the caller must fetch it.
    [[nodiscard]] bool notify() noexcept {
        const uint32_t was = word_.exchange(notified, release);  // R1
        if (was == asleep) os::futex_wake_one(word_);            // I2
        return was == elsewhere;
    }

    // Called instead of sleep() by a thread that is going to wait elsewhere. Returns false if it
    // has already been notified.
    [[nodiscard]] bool go_elsewhere() noexcept {
        uint32_t seen = idle;
        return word_.compare_exchange_strong(seen, elsewhere, acquire, acquire);  // A1
    }

    // Called after the wait elsewhere. Returns true if the thread was notified in between.
    [[nodiscard]] bool was_notified_elsewhere() noexcept {
        uint32_t seen = elsewhere;
        return !word_.compare_exchange_strong(seen, idle, acquire, acquire);  // A1
    }

    // Returns true once notified, or false once the deadline has passed; a later wake() is then
    // still possible.
    bool sleep(int64_t deadline_ns) noexcept {
        uint32_t seen = idle;
        if (!word_.compare_exchange_strong(seen, asleep, acquire, acquire)) return true;  // A1: already notified
        while (word_.load(acquire) != notified) {                                         // A1
            if (os::futex_wait(word_, asleep, deadline_ns)) continue;
            // Timed out. A wake-up at this moment takes precedence.
            seen = asleep;
            return !word_.compare_exchange_strong(seen, idle, acquire, acquire);  // A1
        }
        return true;
    }

private:
    static constexpr uint32_t idle = 0;
    static constexpr uint32_t notified = 1;
    static constexpr uint32_t asleep = 2;
    static constexpr uint32_t elsewhere = 3;

    atomic<uint32_t> word_{idle};
};

}  // namespace weft::detail
