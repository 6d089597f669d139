// fairness.h: how long green threads wait while others go on (options::longest_wait).
//
// Those that join others or sleep wait as long as these take. So only waits count that another
// green thread may end as soon as it likes: for locks, conditions, semaphores, channels and select.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/g.h"

namespace weft::sim {

class fairness {
public:
    void clear() noexcept { all_.clear(); }

    // g, with that number, begins a step.
    void begin_step(uint32_t number, const weft::detail::G* g, uint64_t step) { of(number) = {g, false, step}; }

    // Returns a green thread that has waited for more than `most` steps at that step; 0: none.
    [[nodiscard]] uint32_t find(uint64_t step, uint64_t most) const noexcept {
        for (uint32_t number = 1; number < all_.size(); ++number) {
            const state& s = all_[number];
            if (s.g != nullptr && !s.runnable && step - s.since > most && counts(*s.g)) return number;
        }
        return 0;
    }

    void make_runnable(uint32_t number) { of(number).runnable = true; }

    void ended(uint32_t number) { of(number) = {}; }

private:
    struct state {
        const weft::detail::G* g = nullptr;  // nullptr: it has not begun, or has ended
        bool runnable = false;
        uint64_t since = 0;  // its last step
    };

    static bool counts(const weft::detail::G& g) noexcept {
        using enum weft::detail::wait_reason;
        if (g.state.load(weft::detail::relaxed_own) != weft::detail::g_state::waiting) return false;
        switch (g.reason) {
            case mutex_lock:
            case shared_mutex_lock:
            case shared_mutex_lock_shared:
            case condition_wait:
            case semaphore_acquire:
            case chan_receive:
            case chan_send:
            case select:
                return true;
            default:
                return false;
        }
    }

    state& of(uint32_t number) {
        if (number >= all_.size()) all_.resize(number + 1);
        return all_[number];
    }

    std::vector<state> all_;  // by number
};

}  // namespace weft::sim
