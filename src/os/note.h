// note.h: one thread, an M or a plain thread, sleeps here until it is notified.
//
// Elsewhere: the sleeper (an M in its poller) must be woken in another way. If that happens before
// it waits, it must not wait.
//
// Invariants: I1. There is one sleeper.
//             I2. After wake()'s store the sleeper may be gone. Then only the address is used, so a
//             note must live in type-stable memory.
// Ordering:   R1 (wake) pairs with A1 (the sleeper sees it).
// Threads:    wake, notify: any thread; the rest: the owner.
// See:        docs/idle.md (The note), test/model/note_model.cc
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

    // Returns true if the sleeper is elsewhere and the caller must wake it there.
    [[nodiscard]] bool notify() noexcept {
        const uint32_t was = word_.exchange(notified, release);  // R1
        if (was == asleep) os::futex_wake_one(word_);            // I2
        return was == elsewhere;
    }

    // Called before a wait elsewhere. Returns false if already notified.
    [[nodiscard]] bool go_elsewhere() noexcept {
        uint32_t seen = idle;
        return word_.compare_exchange_strong(seen, elsewhere, acquire, acquire);  // A1
    }

    // Called after that wait. Returns true if notified meanwhile.
    [[nodiscard]] bool was_notified_elsewhere() noexcept {
        uint32_t seen = elsewhere;
        return !word_.compare_exchange_strong(seen, idle, acquire, acquire);  // A1
    }

    // Returns false once the deadline has passed; a later wake() is kept.
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
