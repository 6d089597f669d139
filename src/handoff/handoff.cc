// handoff.cc: see handoff.h.
#include "handoff/handoff.h"

#include "base/assert.h"
#include "handoff/pin.h"
#include "lifecycle/start.h"

namespace weft::detail {

namespace {

// H1, and the giver's part of H2. nullptr: the scheduler is stopping.
P* take_from_giver_locked(scheduler& s, M* m, idle_guard& held) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    WEFT_DCHECK(s.idle.is_locked());
    while (!s.stopping.load(relaxed_locked)) {
        if (P* p = try_release_p_locked(m)) return p;
        held.unlock();
        wait_for_thief(*m->p);
        held.lock();
    }
    return nullptr;
}

// H2: the M that gets the P. nullptr: a new M must be made. asleep: the M must be notified.
M* take_target_locked(scheduler& s, const G* g, bool& asleep) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    M* to = g == nullptr ? nullptr : pinned_to(g);
    asleep = true;
    if (to == nullptr) return take_idle_m_locked(s);
    if (to->on_idle_list) {
        remove_idle_m_locked(s, to);
    } else {
        asleep = false;
    }
    return to;
}

void count_previous_owner_locked(idle_state& idle, M* m, previous_owner what, int change) noexcept {
    WEFT_DCHECK(idle.is_locked());
    uint32_t& count = what == previous_owner::retires ? idle.absent.unavailable : idle.absent.without_p;
    WEFT_ASSERT(change > 0 || count != 0 || what == previous_owner::goes_idle);
    if (what != previous_owner::goes_idle) count += static_cast<uint32_t>(change);
    if (what == previous_owner::continues) m->overran = false;
}

// No M can be had: returns p to m.
void take_back(scheduler& s, M* m, P* p, const G* g, previous_owner what) noexcept {
    m->p = nullptr;
    acquire_p(m, p);
    {
        const idle_guard held(s.idle);
        if (g == nullptr) count_spinning_locked(s.idle, -1);
        count_previous_owner_locked(s.idle, m, what, -1);
    }
    call_monitor(s);  // one spinner less, perhaps, while work waits
}

}  // namespace

handoff hand_off_p(scheduler& s, M* m, G* g, previous_owner what) noexcept {
    idle_state& idle = s.idle;
    idle_guard held(idle);
    P* p = take_from_giver_locked(s, m, held);
    if (p == nullptr) return handoff::stopping;
    bool asleep = false;
    M* to = take_target_locked(s, g, asleep);
    if (what == previous_owner::continues) m->p = p;   // its last P
    if (g == nullptr) count_spinning_locked(idle, 1);  // on behalf of the M that gets the P
    count_previous_owner_locked(idle, m, what, 1);
    if (to != nullptr) {
        WEFT_ASSERT(to->next_p == nullptr);
        to->next_p = p;
        to->next_g = g;
    }
    held.unlock();

    s.hand_offs.fetch_add(1, relaxed_count);
    if (to != nullptr && asleep) {
        s.wakes.fetch_add(1, relaxed_count);
        wake_m(to);
    }
    if (to != nullptr || start_m(s, p, g) == 0) return handoff::done;
    take_back(s, m, p, g, what);
    return handoff::no_m;
}

}  // namespace weft::detail
