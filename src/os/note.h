// note.h: a one-thread sleep: an M or a plain thread waits here until it is told.
//
// One word: 0 nothing, 1 told, 2 asleep, 3 elsewhere. wake() may come before, during or after sleep(); none is lost and the system is only
// called when the sleeper is really asleep. Spurious returns of the futex are absorbed here.
//
// Elsewhere: the sleeper waits for something else as well, in a way of its own (an M in its poller), and is woken in a way of its own, too. It
// says so before, and asks after. Who tells it is told that it is there, and has to fetch it back; one that comes between the two
// is not lost as long as whoever is fetched before he waits does not wait.
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

    // Not for a sleeper that goes elsewhere.
    void wake() noexcept { static_cast<void>(tell()); }

    // As wake(). True: the sleeper is elsewhere, and the caller has to fetch it.
    [[nodiscard]] bool tell() noexcept {
        const uint32_t was = word_.exchange(told, release);  // R1
        if (was == asleep) os::futex_wake_one(word_);        // I2
        return was == elsewhere;
    }

    // Instead of sleep(): the caller is going to wait elsewhere. False: it has been told already.
    [[nodiscard]] bool go_elsewhere() noexcept {
        uint32_t seen = idle;
        return word_.compare_exchange_strong(seen, elsewhere, acquire, acquire);  // A1
    }

    // It is back. True: it has been told meanwhile.
    [[nodiscard]] bool was_told_elsewhere() noexcept {
        uint32_t seen = elsewhere;
        return !word_.compare_exchange_strong(seen, idle, acquire, acquire);  // A1
    }

    // Instead of sleeping right away: awake, until told or until the deadline has passed. sleep() is to follow, and says which. Whoever
    // tells meanwhile need not call the system, nor wait for it.
    void watch(int64_t deadline_ns) const noexcept {
        constexpr int pauses = 8;
        while (word_.load(relaxed) != told && os::monotonic_ns() < deadline_ns) {  // relaxed: sleep() synchronises
            for (int i = 0; i < pauses; ++i) os::cpu_relax();
        }
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
    static constexpr uint32_t elsewhere = 3;

    atomic<uint32_t> word_{idle};
};

}  // namespace weft::detail
