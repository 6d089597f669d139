// switch.h: stands in for src/sched/switch.h in a model: a green thread leaves its M to another
// thread of the checker.
//
// finish_park and finish_park_claimable… follow finish_switch in src/sched/switch.h and
// finish_park_claimable… in switch.cc line by line.
//
// See: park.h in this folder.
#pragma once

#include "sched/park.h"

namespace weft::detail {

// The M of the calling thread if it is a green thread; nullptr for a plain one.
[[nodiscard]] M* current_g_m() noexcept;

inline bool enter(M* /*m*/) noexcept { return true; }

inline void leave(M* /*m*/) noexcept {}

inline void finish_park_claimable(M* m) noexcept {
    const after_switch after = m->after;
    after.g->set_state(g_state::running, g_state::waiting);
    const bool parked = after.claim->publish_parked();
    after.lock->unlock_bits(after.bits);
    if (!parked) ready_g_inside(m, after.g);
}

inline void finish_park_claimable_many(M* m) noexcept {
    const after_switch after = m->after;
    after.g->set_state(g_state::running, g_state::waiting);
    const bool parked = after.claim->publish_parked();
    const held_lock* locks = after.locks;
    held_lock next = locks[0];
    for (uint32_t i = 1; i <= after.bits; ++i) {
        const held_lock held = next;
        if (i < after.bits) next = locks[i];
        held.lock->unlock_bits(held.bits);
    }
    if (!parked) ready_g_inside(m, after.g);
}

inline void finish_switch(M* m) noexcept {
    const auto what = m->after.what;
    G* g = m->after.g;
    if (what == after_switch::kind::park) {
        g->set_state(g_state::running, g_state::waiting);
        m->after.lock->unlock_bits(m->after.bits);
    } else if (what == after_switch::kind::park_claimable_many) {
        finish_park_claimable_many(m);
    } else {
        WEFT_ASSERT(what == after_switch::kind::park_claimable);
        finish_park_claimable(m);
    }
}

// In reality a green thread that parks again, or ends, already runs on another M. The model has one
// M for each green thread, so the rest of the previous switch must finish first.
inline void await_rest(M* m) noexcept {
    if (m->resting) return;
    sleeper done;
    m->awaits_rest = &done;
    done.sleep();
}

// Stops the calling green thread. Its M's rest does what m->after requires. Returns when the green
// thread has been made runnable.
[[nodiscard]] inline M* switch_away(M* m) noexcept {
    G* g = m->g;
    await_rest(m);
    ++g->registers;
    m->resting = false;
    m->rest.call();
    g->turn.sleep();
    g->set_state(g_state::runnable, g_state::running);
    ++g->registers;
    return m;
}

// The rest of an M, as a thread of the checker.
inline void run_rest(M* m) noexcept {
    for (;;) {
        m->rest.sleep();
        if (m->ends) return;
        finish_switch(m);
        m->resting = true;
        if (m->awaits_rest != nullptr) {
            sleeper* waits = m->awaits_rest;
            m->awaits_rest = nullptr;
            waits->call();
        }
    }
}

}  // namespace weft::detail
