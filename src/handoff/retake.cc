// retake.cc: see retake.h.
#include "handoff/retake.h"

#include <utility>

#include "base/assert.h"
#include "handoff/handoff.h"
#include "idle/placement.h"
#include "monitor/sysmon.h"
#include "os/os.h"
#include "os/probe.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

bool anything_waits_for(const scheduler& s, const P* p) noexcept { return p->has_work() || s.has_shared_work(); }

}  // namespace

bool announce_retake(P& p, const M* m) noexcept {
    const auto holder = reinterpret_cast<uintptr_t>(m);
    uintptr_t word = p.owner.load(relaxed_cas);
    while ((word & ~attention::mask) == holder && (word & attention::asked) == 0) {
        // R1. acq_rel: orders us and m; relaxed: tried again
        if (p.owner.compare_exchange_weak(word, word | attention::retake, acq_rel, relaxed)) return true;
    }
    return false;
}

bool take_p_locked(P& p, const M* m) noexcept {
    const auto holder = reinterpret_cast<uintptr_t>(m);
    // R3. acquire: pairs with leave; the next owner sees what m did with the P
    const bool outside = m->in_runtime.load(acquire) == 0;
    uintptr_t word = p.owner.load(relaxed_cas);
    while ((word & ~attention::mask) == holder && (word & attention::retake) != 0) {
        const bool taken = outside && (word & attention::asked) == 0;
        const uintptr_t next = taken ? 0 : word & ~attention::retake;
        // R4. acq_rel: as R1; relaxed: tried again
        if (!p.owner.compare_exchange_weak(word, next, acq_rel, relaxed)) continue;
        if (taken) {
            WEFT_PROBE2(retake, m->index, p.index);
            record_outside(*m->home, event_kind::p_given, static_cast<uint8_t>(event_loss::retaken), m->index, p.index);
        }
        return taken;
    }
    return false;
}

void withdraw_retake(P& p) noexcept {
    p.owner.fetch_and(~attention::retake, acq_rel);  // acq_rel: as R4
}

void leave_p_to_others(scheduler& s, M* m) noexcept {
    const bool has_p = enter(m);
    if (has_p && anything_waits_for(s, m->p) && hand_off_p(s, m, nullptr, previous_owner::continues) == handoff::no_m)
        s.no_thread.fetch_add(1, relaxed_count);
    leave(m);
}

bool take_back_p(scheduler& s, M* m) noexcept {
    idle_state& idle = s.idle;
    idle_guard held(idle);
    P* p = s.stopping.load(relaxed_locked) ? nullptr : take_idle_p_locked(s, m->p->index);
    if (p != nullptr) {
        WEFT_ASSERT(idle.absent.without_p != 0);
        --idle.absent.without_p;
        set_hog_locked(idle, m, false);
    }
    const bool had_long_slice = p != nullptr && std::exchange(m->has_long_slice, false);
    held.unlock();
    if (p == nullptr) return false;
    m->p = nullptr;
    acquire_p(m, p);
    p->now_ns = os::monotonic_ns();
    if (had_long_slice) os::want_short_slices(m->tid(), true);
    call_monitor(s);  // one idle P less
    return true;
}

M* switch_away_without_p(M* m) noexcept {
    m->p = nullptr;
    m = switch_g_to_g0(m, m->g, false);
    finish_switch(m);
    return m;
}

M* queue_for_p(M* m) noexcept {
    // overran: written before take_back_p had the lock, and not again until m has a P
    m->after.what = m->overran ? after_switch::kind::requeue_outside : after_switch::kind::arrive;
    m->after.g = m->g;
    m->g->last_p = static_cast<uint16_t>(m->p->index);
    return switch_away_without_p(m);
}

void exit_without_p(M* m) noexcept {
    m->after.what = after_switch::kind::die_outside;
    m->after.g = m->g;
    WEFT_ASSERT(m->g != nullptr);
    WEFT_PROBE2(end, m->g->id, m->index);
    m->p = nullptr;
    static_cast<void>(switch_g_to_g0(m, m->g, true));
    fatal("a finished green thread was resumed: memory was overwritten, or this is a bug in weft");
}

void come_back_without_p(scheduler& s, M* m) noexcept {
    idle_guard held(s.idle);
    WEFT_ASSERT(s.idle.absent.without_p != 0);
    --s.idle.absent.without_p;
    set_hog_locked(s.idle, m, false);
    const bool had_long_slice = std::exchange(m->has_long_slice, false);
    held.unlock();
    if (had_long_slice) os::want_short_slices(m->tid(), true);
    sleep_without_p(s, m);
}

}  // namespace weft::detail
