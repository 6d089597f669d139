// trim.cc: see trim.h.
#include "sched/trim.h"

#include <utility>

#include "sched/scheduler.h"

namespace weft::detail {

namespace {

// Whether p, which is idle, has run nothing since the call before, for the first time. Requires: idle.lock.
bool stayed_idle_locked(P& p) noexcept {
    const uint64_t tick = p.tick();
    if (p.idle_tick != tick) {
        p.idle_tick = tick;
        p.collected = false;
        return false;
    }
    return !std::exchange(p.collected, true);
}

// What p, which is idle, keeps. Requires: idle.lock.
void collect_locked(P& p, fifo<struct stack>& stacks) noexcept {
    while (struct stack* one = p.stacks.pop()) stacks.push_back(one);
    // Only the oldest dead Gs have stacks: they lie at the bottom.
    fifo<G> gs;
    while (G* g = p.dead_gs.pop()) {
        if (struct stack* left = std::exchange(g->stack, nullptr)) {
            left->owner = nullptr;
            g->special.fetch_and(static_cast<uint16_t>(~special::canary), relaxed);  // relaxed: the P's, but for frozen
            stacks.push_back(left);
        }
        gs.push_back(g);
    }
    p.dead_gs.take_all(gs);
}

}  // namespace

trimming trim_stacks(scheduler& s, uint32_t most) noexcept {
    fifo<struct stack> stacks;
    s.idle.lock.lock();
    for (uint32_t i = 0; i < s.ps.reach(); ++i) {
        const bool idle = (s.idle.idle_ps[i / 64] >> (i % 64) & 1) != 0;
        if (idle && stayed_idle_locked(s.ps[i])) collect_locked(s.ps[i], stacks);
    }
    s.idle.lock.unlock();
    if (!stacks.empty()) s.stacks.give(stacks);
    return s.stacks.trim(most);
}

}  // namespace weft::detail
