// note.h: a one-thread sleep: an M or a plain thread waits here until it is told.
//
// One word: 0 nothing, 1 told, 2 asleep. wake() may come before, during or after sleep(); none is lost and the system is only
// called when the sleeper is really asleep. Spurious returns of the futex are absorbed here.
//
// Invariants: I1. One sleeper.
//             I2. After wake()'s store the sleeper may be gone: only the address is used then, so a note must live in memory that
//                 stays a note (type-stable).
// Ordering:   R1 (wake) pairs with A1 (the sleeper sees it): what was written before wake() is visible after sleep().
// Who:        reset and sleep by the owner, wake by anybody.
// See:        docs/idle.md, test/model/note_model.cc
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "os/os.h"

namespace weft::detail {

class note {
public:
    // Before the note is handed to a waker.
    void reset() noexcept { word_.store(idle, relaxed); }  // relaxed: handing it over publishes it

    void wake() noexcept {
        if (word_.exchange(told, release) == asleep) os::futex_wake_one(word_);  // R1, I2
    }

    // Returns once told (true) or once the deadline has passed (false; a later wake() is then still possible).
    bool sleep(int64_t deadline_ns) noexcept {
        uint32_t seen = idle;
        if (!word_.compare_exchange_strong(seen, asleep, acquire, acquire)) return true;  // A1: told already
        while (word_.load(acquire) != told) {                                             // A1
            if (os::futex_wait(word_, asleep, deadline_ns)) continue;
            // The time is up. Whoever wakes us at this very moment has won.
            seen = asleep;
            return !word_.compare_exchange_strong(seen, idle, acquire, acquire);  // A1
        }
        return true;
    }

private:
    static constexpr uint32_t idle = 0;
    static constexpr uint32_t told = 1;
    static constexpr uint32_t asleep = 2;

    atomic<uint32_t> word_{idle};
};

}  // namespace weft::detail
