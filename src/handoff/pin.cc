// pin.cc: see pin.h and weft/pin.h.
#include "handoff/pin.h"

#include <utility>

#include <weft/pin.h>

#include "base/assert.h"
#include "handoff/handoff.h"
#include "idle/idle.h"
#include "idle/placement.h"
#include "lifecycle/start.h"
#include "os/os.h"
#include "sched/priority_queues.h"
#include "sched/schedule.h"
#include "sched/simulation.h"
#include "sched/switch.h"

namespace weft {

namespace detail {

namespace {

// Between tries to make a thread.
constexpr int64_t no_thread_nap_ns = 1'000'000;

// H5: true if m was handed its own G since.
bool was_handed(scheduler& s, const M* m) noexcept {
    const idle_guard held(s.idle);
    return m->next_p != nullptr;
}

// H5: m's pinned G, if a queue has it. m's P has no Gs.
G* take_own(scheduler& s, M* m) noexcept {
    G* own = m->pinned;
    if (own->state.load(relaxed) != g_state::runnable) return nullptr;  // relaxed: the queues' locks
    if (s.global.take(own) || s.injected.take(own) || s.high.take(own) || s.low.take(own)) return own;
    G* g = steal(s, m, os::monotonic_ns());
    if (g != nullptr && g != own) push_shared(s, g);
    return g == own ? own : nullptr;
}

// H5.
void keep_p(scheduler& s, M* m, G* g) noexcept {
    move_gs(s, *m->p);
    push_shared(s, g);
    if (was_handed(s, m)) {
        sleep_until_work(s, m);
        return;
    }
    m->picked = take_own(s, m);
    if (m->picked == nullptr) os::sleep_ns(no_thread_nap_ns);
}

// I1, for m's G or, when it is leaving, g.
void tie(M* m, uint16_t bits) noexcept {
    m->g->stack->pinned_to = m;
    m->pinned = m->g;
    m->g->special.fetch_or(bits, relaxed);  // relaxed: ours, except for frozen
}

void untie(M* m, G* g, uint16_t bits) noexcept {
    g->special.fetch_and(static_cast<uint16_t>(~bits), relaxed);  // relaxed: as above
    m->pinned = nullptr;
    g->stack->pinned_to = nullptr;
}

}  // namespace

void hand_over(scheduler& s, M* m, G* g) noexcept {
    switch (hand_off_p(s, m, g, previous_owner::goes_idle)) {
        case handoff::done:
            sleep_without_p(s, m);  // H4
            return;
        case handoff::no_m:
            keep_p(s, m, g);
            return;
        case handoff::stopping:
            return;
    }
}

void retire(scheduler& s, M* m) noexcept {
    m->retired.store(true, relaxed_hint);
    if (m->p == nullptr) {
        idle_guard held(s.idle);
        --s.idle.absent.without_p;
        set_hog_locked(s.idle, m, false);
        ++s.idle.absent.unavailable;
        const bool watch = starts_deadlock_watch_locked(s);  // all others may have parked before
        held.unlock();
        if (watch) s.sysmon.watch_deadlock();
        return;
    }
    handoff how = handoff::no_m;
    for (;;) {
        // picked: the G that the ended one would have switched to
        how = hand_off_p(s, m, m->picked, previous_owner::retires);
        if (how != handoff::no_m) break;
        os::sleep_ns(no_thread_nap_ns);
    }
    if (how == handoff::stopping) {  // it has counted nothing
        idle_guard held(s.idle);
        ++s.idle.absent.unavailable;
        // Another thread may free m now; the stopping one reads owners (request_stop).
        P* p = release_p_locked(m, held);
        p->state.store(p_state::idle, relaxed_count);
        return;
    }
    m->picked = nullptr;
    // The P's new owner may have been the sentinel, and neither it nor m scans.
    wake_if_wanted(s);
}

void await_stop(scheduler& s, M* m) noexcept {
    m->park.reset();
    idle_guard held(s.idle);
    const bool waits = !s.stopping.load(relaxed_locked);
    if (waits) s.idle.retired_main = m;
    held.unlock();
    if (waits) m->park.sleep(never);
}

void pin_g(M* m) noexcept {
    if (m->home->simulated != nullptr) return;  // one M runs all Gs: S1 of simulation.h
    if (m->pins++ != 0) return;
    m->home->maker.start();  // while this thread has its original attributes
    if (m->pinned == nullptr) tie(m, special::pinned);
}

bool unpin_g(M* m) noexcept {
    if (m->home->simulated != nullptr) return true;
    if (m->pins == 0) return false;
    if (--m->pins != 0) return true;
    if ((m->g->special.load(relaxed_own) & special::kept) == 0) untie(m, m->g, special::pinned);
    return true;
}

void keep_g(M* m) noexcept {
    if (m->pinned == nullptr) {
        tie(m, special::pinned | special::kept);
    } else {
        m->g->special.fetch_or(special::kept, relaxed);  // relaxed: ours, except for frozen
    }
}

void stop_keeping(G* g) noexcept {
    M* m = g->stack->pinned_to;
    if (m->pins == 0) {
        untie(m, g, special::pinned | special::kept);
    } else {
        g->special.fetch_and(static_cast<uint16_t>(~special::kept), relaxed);  // relaxed: ours, except for frozen
    }
}

}  // namespace detail

using namespace detail;

pin::pin() noexcept {
    M* m = current_g_m();
    if (m == nullptr) return;
    g_ = m->g->id;
    pin_g(m);
}

pin::~pin() {
    if (g_ == 0) return;
    M* m = current_g_m();
    if (m == nullptr || m->g->id != g_ || !unpin_g(m))
        fatal("a weft::pin was destroyed by a green thread that it does not pin; destroy it in the one that made it");
}

void pin::keep() noexcept { g_ = 0; }

namespace this_g {

bool pinned() noexcept {
    const M* m = current_g_m();
    return m != nullptr && m->pins != 0;
}

}  // namespace this_g

}  // namespace weft
