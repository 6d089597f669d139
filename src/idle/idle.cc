// idle.cc: waking Ms, and the lists of idle Ps and Ms.
#include "idle/idle.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "lifecycle/start.h"
#include "monitor/sysmon.h"
#include "os/os.h"
#include "sched/current.h"
#include "sched/scheduler.h"

namespace weft::detail {

namespace {

M*& list_for(idle_state& idle, const M* m) noexcept { return m->pinned == nullptr ? idle.ms.any : idle.ms.pinned; }

// Whether as many Ms run any G as there are Ps. If none of them is idle, one without a P is about
// to park, and scans after it has the lock.
bool enough_ms_locked(const scheduler& s) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    const absent_ms& absent = s.idle.absent;
    WEFT_ASSERT(absent.unavailable + absent.without_p <= s.thread_count.load(relaxed_hint));
    // relaxed: it only grows while the lock is held
    return s.thread_count.load(relaxed) - absent.unavailable - absent.without_p >= s.ps.alive();
}

// No M can be made. One that waits for its pinned G can at least look for that one.
M* take_pinned_m_locked(scheduler& s) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    M* m = s.idle.ms.pinned;
    if (m != nullptr) remove_idle_m_locked(s, m);
    return m;
}

enum class waker : uint8_t { pusher, outside };

// No thread could be made for p (W5).
void give_back_without_m(scheduler& s, P* p) noexcept {
    s.no_thread.fetch_add(1, relaxed_count);
    idle_guard held(s.idle);
    put_idle_p_locked(s, p);
    count_spinning_locked(s.idle, -1);
    s.idle.lacks_m.store(true, relaxed_locked);
    M* m = take_pinned_m_locked(s);
    held.unlock();
    if (m != nullptr) wake_m(m);
    call_monitor(s);
}

// Wakes an M for an idle P, unless another M is responsible.
void wake_one(scheduler& s, uint32_t preferred, waker by) noexcept {
    idle_state& idle = s.idle;
    idle_guard held(idle);
    const bool due = by == waker::outside ? idle.spinning.load(relaxed_locked) == 0 : held.wants_m();
    if (!due || idle.ps.count() == 0 || s.stopping.load(relaxed_locked)) return;
    M* m = take_idle_m_locked(s);
    if (m == nullptr && enough_ms_locked(s)) return;
    if (m == nullptr && idle.lacks_m.load(relaxed_locked)) {
        m = take_pinned_m_locked(s);
        held.unlock();
        if (m != nullptr) wake_m(m);
        return;
    }
    P* p = take_idle_p_locked(s, preferred);
    count_spinning_locked(idle, 1);  // on behalf of the M that is woken
    held.unlock();

    if (m == nullptr) {
        if (start_m(s, p, nullptr) != 0) give_back_without_m(s, p);
        return;
    }
    WEFT_ASSERT(m->next_p == nullptr);
    m->next_p = p;
    s.wakes.fetch_add(1, relaxed_count);
    wake_m(m);
}

}  // namespace

void count_spinning_locked(idle_state& idle, int change) noexcept { add_locked(idle.spinning, change); }

void put_idle_m_locked(scheduler& s, M* m) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    WEFT_ASSERT(!m->on_idle_list && m->p == nullptr);
    M*& list = list_for(s.idle, m);
    m->on_idle_list = true;
    m->idle_next = list;
    list = m;
    add_locked(s.idle.ms.count, 1);
    if (m->pinned != nullptr) {
        ++s.idle.absent.unavailable;
    } else {
        s.idle.lacks_m.store(false, relaxed_locked);
    }
}

void remove_idle_m_locked(scheduler& s, M* m) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    WEFT_ASSERT(m->on_idle_list);
    M** link = &list_for(s.idle, m);
    while (*link != m) {
        WEFT_ASSERT(*link != nullptr);
        link = &(*link)->idle_next;
    }
    *link = m->idle_next;
    m->on_idle_list = false;
    add_locked(s.idle.ms.count, -1);
    if (m->pinned != nullptr) {
        WEFT_ASSERT(s.idle.absent.unavailable != 0);
        --s.idle.absent.unavailable;
    }
    if (s.idle.sentinel.m == m) s.idle.sentinel = {};
}

M* take_idle_m_locked(scheduler& s) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    const idle_state& idle = s.idle;
    // Waking an M in the poller costs a write and a read more; the sentinel wakes soon by itself.
    const auto rank = [&](const M* m) { return m == idle.sentinel.m ? 2 : idle.poller.has(m) ? 1 : 0; };
    M* best = nullptr;
    // Four steps at most: there is one sentinel, and two Ms wait in the poller.
    for (M* m = idle.ms.any; m != nullptr && (best == nullptr || rank(best) != 0); m = m->idle_next) {
        if (best == nullptr || rank(m) < rank(best)) best = m;
    }
    if (best != nullptr) remove_idle_m_locked(s, best);
    return best;
}

bool anything_to_do(scheduler& s, int64_t now_ns) noexcept {
    if (s.has_shared_work()) return true;
    for (uint32_t i = 0; i < s.ps.reach(); ++i) {
        if (s.ps[i].has_work() || s.ps[i].timers.next_deadline() <= now_ns) return true;
    }
    return false;
}

int64_t with_slack(const scheduler& s, int64_t deadline_ns) noexcept {
    return deadline_ns < never - s.timer_slack_ns ? deadline_ns + s.timer_slack_ns : deadline_ns;
}

int64_t earliest_alarm(const scheduler& s) noexcept {
    std::atomic_thread_fence(std::memory_order_acquire);  // L1: after a scan of the queues
    int64_t earliest = never;
    for (uint32_t i = 0; i < s.ps.reach(); ++i) earliest = std::min(earliest, s.ps[i].timers.next_deadline());
    return with_slack(s, earliest);
}

P* try_release_p_locked(M* m) noexcept {
    WEFT_DCHECK(m->home->idle.is_locked());
    P* p = m->p;
    WEFT_ASSERT(p != nullptr);
    uintptr_t word = p->owner.load(relaxed_cas);
    WEFT_ASSERT((word & ~attention::mask) == reinterpret_cast<uintptr_t>(m));
    while ((word & attention::asked) == 0) {
        // acq_rel: the next owner sees all that was done with it; relaxed: tried again
        if (!p->owner.compare_exchange_weak(word, 0, acq_rel, relaxed)) continue;
        m->p = nullptr;
        if (has_ring(m)) record_event(m, event_kind::p_given, 0, 0, p->index);
        return p;
    }
    return nullptr;
}

void wait_for_thief(const P& p) noexcept {
    // relaxed: a look, the exchange decides
    for (uint32_t attempt = 0; (p.owner.load(relaxed) & attention::asked) != 0; ++attempt) spin_backoff(attempt);
}

P* release_p_locked(M* m, idle_guard& held) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    for (;;) {
        if (P* p = try_release_p_locked(m)) return p;
        held.unlock();
        wait_for_thief(*m->p);
        held.lock();
    }
}

void acquire_p(M* m, P* p) noexcept {
    WEFT_ASSERT(m->p == nullptr);
    uintptr_t free = 0;
    const bool ours = p->owner.compare_exchange_strong(free, reinterpret_cast<uintptr_t>(m) | m->home->owner_flags,
                                                       acq_rel, relaxed);  // with try_release_p_locked
    WEFT_ASSERT(ours);
    p->state.store(p_state::running, relaxed_count);
    p->begin_slice();
    m->p = p;
    m->move_to.store(os::no_cpu, relaxed);  // relaxed: requests made with another P are void
    if (has_ring(m)) record_event(m, event_kind::p_taken, 0, 0, p->index);
}

void put_idle_p_locked(scheduler& s, P* p) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    WEFT_ASSERT(!p->has_work());
    p->state.store(p_state::idle, relaxed_count);
    s.idle.ps.put(p->index);
}

P* take_this_idle_p_locked(scheduler& s, uint32_t index) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    return s.idle.ps.take(index) ? &s.ps[index] : nullptr;
}

P* take_idle_p_locked(scheduler& s, uint32_t preferred) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    return s.idle.ps.count() == 0 ? nullptr : &s.ps[s.idle.ps.take_any(preferred)];
}

namespace {

// Whether p's owner may have pushed something that waits.
bool may_concern_monitor(const scheduler& s, const P& p) noexcept {
    // relaxed: if it has gone dormant with another time since, it has scanned after that
    return p.has_work() || with_slack(s, p.timers.next_deadline()) < s.idle.monitor.until_ns.load(relaxed);
}

}  // namespace

void wake_wanted(scheduler& s) noexcept {
    const uint32_t what = s.idle.wanted.load(relaxed);  // relaxed: F2
    if ((what & wanted::an_m) != 0) wake_one(s, procs_max, waker::pusher);
    if ((what & wanted::monitor) == 0) return;
    const M* m = current_m();
    if (m != nullptr && (m->g == nullptr || !may_concern_monitor(s, *m->p))) return;  // g0 calls before it runs a G
    call_monitor(s);
}

void wake_for_outside(scheduler& s, uint32_t preferred) noexcept {
    WEFT_FULL_FENCE();                                                          // F1
    if ((s.idle.wanted.load(relaxed) & wanted::monitor) != 0) call_monitor(s);  // relaxed: F1
    if (s.idle.ps.count() == 0 || s.idle.spinning.load(relaxed) != 0) return;   // relaxed: F1
    wake_one(s, preferred, waker::outside);
}

bool start_spinning(scheduler& s, M* m) noexcept {
    if (m->spinning) return true;
    const idle_guard held(s.idle);
    WEFT_ASSERT(s.idle.ps.count() <= s.ps.alive());
    const uint32_t busy = s.ps.alive() - s.idle.ps.count();
    if (2 * s.idle.spinning.load(relaxed_locked) >= busy) return false;
    m->spinning = true;
    count_spinning_locked(s.idle, 1);
    return true;
}

namespace {

// The conditions of Alone that need the lock.
bool is_alone_locked(const scheduler& s) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    if (s.idle.ps.count() + 1 != s.ps.alive() || s.idle.absent.without_p != 0) return false;
    return !s.io.in_use() || s.idle.poller.waiting_locked() != nullptr;
}

}  // namespace

void stop_spinning(scheduler& s, M* m) noexcept {
    WEFT_ASSERT(m->spinning);
    m->spinning = false;
    idle_guard held(s.idle);
    count_spinning_locked(s.idle, -1);
    if (!held.wants_m()) return;
    const bool alone = is_alone_locked(s);
    const int64_t alarm_ns = s.idle.sentinel.until_ns;
    held.unlock();
    if (alone) {
        WEFT_FULL_FENCE();  // F1
        if (!anything_to_do(s, long_ago) && earliest_alarm(s) >= alarm_ns) return;
    }
    wake_if_wanted(s);
}

void wake_if_wanted(scheduler& s) noexcept { wake_one(s, procs_max, waker::pusher); }

void wake_to_look(scheduler& s) noexcept { wake_one(s, procs_max, waker::outside); }

void wake_m(M* m) noexcept {
    scheduler& s = *m->home;  // m may be gone once it is notified
    if (!m->park.notify()) return;
    s.idle.poller.count_interrupt();
    s.io.interrupt();
}

void try_missing_m(scheduler& s) noexcept {
    {
        const idle_guard held(s.idle);
        s.idle.lacks_m.store(false, relaxed_locked);
    }
    wake_for_outside(s, procs_max);
}

void wake_all_to_stop(scheduler& s) noexcept {
    M* chain = nullptr;
    const auto add = [&chain](M* m) {
        m->idle_next = chain;
        chain = m;
    };
    {
        idle_state& idle = s.idle;
        const idle_guard held(idle);
        s.stopping.store(true, relaxed);  // relaxed: read under the lock, or after attention was set
        while (M* m = idle.ms.any != nullptr ? idle.ms.any : idle.ms.pinned) {
            remove_idle_m_locked(s, m);
            add(m);
        }
        if (M* m = std::exchange(idle.retired_main, nullptr)) add(m);
    }
    while (chain != nullptr) {
        M* next = chain->idle_next;
        wake_m(chain);
        chain = next;
    }
}

}  // namespace weft::detail
