// idle.cc: sleeping and waking Ms. The protocol and its reasons are in idle.h; step numbers refer to it.
#include "idle/idle.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"
#include "lifecycle/start.h"
#include "monitor/sysmon.h"
#include "os/os.h"
#include "sched/current.h"
#include "sched/scheduler.h"

namespace weft::detail {

namespace {

constexpr uint32_t bits_per_word = 64;

void add(atomic<uint32_t>& count, int change) noexcept {
    count.store(count.load(relaxed) + static_cast<uint32_t>(change), relaxed);  // relaxed: written under idle.lock
}

M*& list_for(idle_state& idle, const M* m) noexcept { return m->pinned == nullptr ? idle.idle_ms : idle.pinned_ms; }

// No M is asleep that runs any G; whether another one is to be made. With as many of those as Ps, one without a P is awake: it is on its
// way to sleep and, once it has the lock, will see what was pushed.
bool enough_ms_locked(const scheduler& s) noexcept {
    return s.thread_count.load(relaxed) - s.idle.unavailable - s.idle.ms_without_p >=
           s.ps.alive();  // relaxed: it only grows while the lock is held
}

bool wants_m_locked(const idle_state& idle) noexcept {
    return (idle.wanted.load(relaxed) & wanted::an_m) != 0;  // relaxed: locked
}

// An M is needed and cannot be made. One that waits for its pinned G can at least look for that one.
M* take_pinned_m_locked(scheduler& s) noexcept {
    M* m = s.idle.pinned_ms;
    if (m != nullptr) remove_idle_m_locked(s, m);
    return m;
}

// Wakes one M for an idle P. Nothing happens if there is none, or if somebody is on the way already.
void wake_one(scheduler& s, uint32_t preferred, bool from_outside) noexcept {
    idle_state& idle = s.idle;
    idle.lock.lock();
    const bool due = from_outside ? idle.spinning.load(relaxed) == 0 : wants_m_locked(idle);  // relaxed: locked
    if (!due || idle.idle_p_count.load(relaxed) == 0 || s.stopping.load(relaxed)) {           // relaxed: locked
        idle.lock.unlock();
        return;
    }
    M* m = take_idle_m_locked(s);
    if (m == nullptr && enough_ms_locked(s)) {
        idle.lock.unlock();
        return;
    }
    if (m == nullptr && idle.lacks_m.load(relaxed)) {  // relaxed: locked
        m = take_pinned_m_locked(s);
        publish_wanted_locked(idle);
        idle.lock.unlock();
        if (m != nullptr) wake_m(m);
        return;
    }
    P* p = take_idle_p_locked(s, preferred);
    add(idle.spinning, 1);  // on behalf of the M that is woken
    publish_wanted_locked(idle);
    idle.lock.unlock();

    if (m != nullptr) {
        m->next_p = p;
        s.wakes.fetch_add(1, relaxed);  // relaxed: statistics
        wake_m(m);
        return;
    }
    if (start_m(s, p, nullptr) == 0) return;
    // No thread to be had: W5.
    s.no_thread.fetch_add(1, relaxed);  // relaxed: statistics
    idle.lock.lock();
    put_idle_p_locked(s, p);
    add(idle.spinning, -1);
    idle.lacks_m.store(true, relaxed);  // relaxed: locked
    m = take_pinned_m_locked(s);
    publish_wanted_locked(idle);
    idle.lock.unlock();
    if (m != nullptr) wake_m(m);
    call_monitor(s);
}

}  // namespace

void publish_wanted_locked(idle_state& idle) noexcept {
    const bool near = idle.sentinel != nullptr && idle.sentinel_near;
    const bool none_spins = idle.spinning.load(relaxed) == 0;  // relaxed: written under the lock, as all here
    const bool an_m = idle.idle_p_count.load(relaxed) != 0 && none_spins && !near;  // relaxed: as above
    idle.wanted.store((an_m ? wanted::an_m : 0) | (idle.monitor_far ? wanted::monitor : 0), relaxed);  // relaxed: F2
}

void count_spinner_locked(idle_state& idle, int change) noexcept { add(idle.spinning, change); }

void put_idle_m_locked(scheduler& s, M* m) noexcept {
    WEFT_ASSERT(!m->on_idle_list && m->p == nullptr);
    M*& list = list_for(s.idle, m);
    m->on_idle_list = true;
    m->idle_next = list;
    list = m;
    add(s.idle.idle_m_count, 1);
    if (m->pinned != nullptr) {
        ++s.idle.unavailable;
    } else {
        s.idle.lacks_m.store(false, relaxed);  // relaxed: written under the lock
    }
}

void remove_idle_m_locked(scheduler& s, M* m) noexcept {
    M** link = &list_for(s.idle, m);
    while (*link != m) {
        WEFT_ASSERT(*link != nullptr);
        link = &(*link)->idle_next;
    }
    *link = m->idle_next;
    m->on_idle_list = false;
    add(s.idle.idle_m_count, -1);
    if (m->pinned != nullptr) --s.idle.unavailable;
    if (s.idle.sentinel == m) {
        s.idle.sentinel = nullptr;
        s.idle.sentinel_until_ns = never;
    }
    if (s.idle.deadlock_looker == m) s.idle.deadlock_looker = nullptr;
}

M* take_idle_m_locked(scheduler& s) noexcept {
    const idle_state& idle = s.idle;
    const bool all_idle = idle.idle_p_count.load(relaxed) == s.ps.alive();  // relaxed: locked
    const auto rank = [&](const M* m) {
        if (idle.poller.has(m)) return all_idle ? 2 : 1;
        if (m == idle.sentinel) return all_idle ? 1 : 2;  // one that only stays has nothing to look for
        return 0;
    };
    M* best = nullptr;
    // Four at most: there is one sentinel, and two poll.
    for (M* m = idle.idle_ms; m != nullptr && (best == nullptr || rank(best) != 0); m = m->idle_next) {
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

int64_t earliest_deadline(const scheduler& s) noexcept {
    std::atomic_thread_fence(std::memory_order_acquire);  // L1: after a look at the queues
    int64_t earliest = never;
    for (uint32_t i = 0; i < s.ps.reach(); ++i) earliest = std::min(earliest, s.ps[i].timers.next_deadline());
    return earliest;
}

P* try_release_p_locked(M* m) noexcept {
    P* p = m->p;
    uintptr_t word = p->owner.load(relaxed);  // relaxed: the exchange decides
    while ((word & attention::asked) == 0) {
        // acq_rel: whoever acquires it sees all we did with it; relaxed: tried again
        if (!p->owner.compare_exchange_weak(word, 0, acq_rel, relaxed)) continue;
        m->p = nullptr;
        return p;
    }
    return nullptr;
}

void wait_for_thief(const P& p) noexcept {
    // relaxed: a look, the exchange decides
    for (uint32_t attempt = 0; (p.owner.load(relaxed) & attention::asked) != 0; ++attempt) spin_backoff(attempt);
}

P* lock_and_release_p(scheduler& s, M* m) noexcept {
    for (;;) {
        s.idle.lock.lock();
        if (P* p = try_release_p_locked(m)) return p;
        s.idle.lock.unlock();
        wait_for_thief(*m->p);
    }
}

void acquire_p(M* m, P* p) noexcept {
    WEFT_ASSERT(m->p == nullptr);
    uintptr_t free = 0;
    const bool ours = p->owner.compare_exchange_strong(free, reinterpret_cast<uintptr_t>(m) | m->home->owner_flags,
                                                       acq_rel, relaxed);  // with release_p
    WEFT_ASSERT(ours);
    p->state.store(p_state::running, relaxed);  // relaxed: for dumps
    p->begin_slice();
    m->p = p;
    m->move_to.store(os::no_cpu, relaxed);  // relaxed: what it was told with another P is no longer so
}

void put_idle_p_locked(scheduler& s, P* p) noexcept {
    WEFT_ASSERT(!p->has_work());
    p->state.store(p_state::idle, relaxed);  // relaxed: for dumps
    s.idle.idle_ps[p->index / bits_per_word] |= uint64_t{1} << (p->index % bits_per_word);
    add(s.idle.idle_p_count, 1);
}

P* take_this_idle_p_locked(scheduler& s, uint32_t index) noexcept {
    const uint64_t bit = uint64_t{1} << (index % bits_per_word);
    uint64_t& word = s.idle.idle_ps[index / bits_per_word];
    if ((word & bit) == 0) return nullptr;
    word &= ~bit;
    add(s.idle.idle_p_count, -1);
    return &s.ps[index];
}

P* take_idle_p_locked(scheduler& s, uint32_t preferred) noexcept {
    idle_state& idle = s.idle;
    if (idle.idle_p_count.load(relaxed) == 0) return nullptr;  // relaxed: locked
    uint32_t index = preferred;
    if (index >= procs_max || (idle.idle_ps[index / bits_per_word] >> (index % bits_per_word) & 1) == 0) {
        uint32_t word = 0;
        while (idle.idle_ps[word] == 0) ++word;
        index = word * bits_per_word + static_cast<uint32_t>(std::countr_zero(idle.idle_ps[word]));
    }
    idle.idle_ps[index / bits_per_word] &= ~(uint64_t{1} << (index % bits_per_word));
    add(idle.idle_p_count, -1);
    publish_wanted_locked(idle);
    return &s.ps[index];
}

namespace {

// Whether a push by p's owner may have made something wait: a look at what was pushed.
bool may_concern_monitor(const scheduler& s, const P& p) noexcept {
    // relaxed: when it has gone far with another time, it has looked after that
    return p.has_work() || p.timers.next_deadline() < s.idle.monitor_until_ns.load(relaxed);
}

}  // namespace

void wake_wanted(scheduler& s) noexcept {
    const uint32_t who = s.idle.wanted.load(relaxed);  // relaxed: F2
    if ((who & wanted::an_m) != 0) wake_one(s, procs_max, false);
    if ((who & wanted::monitor) == 0) return;
    const M* m = current_m();
    if (m != nullptr && (m->g == nullptr || !may_concern_monitor(s, *m->p))) return;  // g0 looks before it runs a G
    call_monitor(s);
}

void wake_for_outside(scheduler& s, uint32_t preferred) noexcept {
    WEFT_FULL_FENCE();                                                                         // F1
    if ((s.idle.wanted.load(relaxed) & wanted::monitor) != 0) call_monitor(s);                 // relaxed: F1
    if (s.idle.idle_p_count.load(relaxed) == 0 || s.idle.spinning.load(relaxed) != 0) return;  // relaxed: F1
    wake_one(s, preferred, true);
}

bool start_spinning(scheduler& s, M* m) noexcept {
    if (m->spinning) return true;
    idle_state& idle = s.idle;
    idle.lock.lock();
    const uint32_t busy = s.ps.alive() - idle.idle_p_count.load(relaxed);  // relaxed: locked, as below
    const bool may = 2 * idle.spinning.load(relaxed) < busy;               // relaxed: locked
    if (may) {
        m->spinning = true;
        add(idle.spinning, 1);
        publish_wanted_locked(idle);
    }
    idle.lock.unlock();
    return may;
}

namespace {

// Whether the last M that looked may run a G without waking another one, as far as can be said now (Alone, in idle.h).
bool is_alone_locked(const scheduler& s) noexcept {
    const idle_state& idle = s.idle;
    if (idle.idle_p_count.load(relaxed) + 1 != s.ps.alive() || idle.ms_without_p != 0) return false;  // relaxed: locked
    return !s.io.in_use() || idle.poller.waiting_locked() != nullptr;
}

}  // namespace

void stop_spinning(scheduler& s, M* m) noexcept {
    WEFT_ASSERT(m->spinning);
    m->spinning = false;
    s.idle.lock.lock();
    add(s.idle.spinning, -1);
    publish_wanted_locked(s.idle);
    const bool another = wants_m_locked(s.idle);
    const bool alone = another && is_alone_locked(s);
    const int64_t alarm_ns = s.idle.sentinel_until_ns;
    s.idle.lock.unlock();
    if (!another) return;
    if (alone) {
        WEFT_FULL_FENCE();  // F1
        if (!anything_to_do(s, long_ago) && earliest_deadline(s) >= alarm_ns) return;
    }
    wake_if_wanted(s);
}

bool may_stand_by_locked(const scheduler& s) noexcept {
    const uint32_t busy = s.ps.alive() - s.idle.idle_p_count.load(relaxed) + s.idle.hogs;  // relaxed: locked
    return busy < s.cpus.load(relaxed) && !s.idle.one_stands_by.load(relaxed);             // relaxed: a look
}

void wake_if_wanted(scheduler& s) noexcept { wake_one(s, procs_max, false); }

void wake_to_look(scheduler& s) noexcept { wake_one(s, procs_max, true); }

void wake_m(M* m) noexcept {
    scheduler& s = *m->home;  // m may be gone once it is told
    if (!m->park.tell()) return;
    s.idle.poller.count_interrupt();
    s.io.interrupt();
}

void try_missing_m(scheduler& s) noexcept {
    s.idle.lock.lock();
    s.idle.lacks_m.store(false, relaxed);  // relaxed: locked
    s.idle.lock.unlock();
    wake_for_outside(s, procs_max);
}

void wake_all_to_stop(scheduler& s) noexcept {
    idle_state& idle = s.idle;
    idle.lock.lock();
    s.stopping.store(true, relaxed);  // relaxed: read under the lock, or after attention was set
    M* chain = nullptr;
    while (M* m = idle.idle_ms != nullptr ? idle.idle_ms : idle.pinned_ms) {
        remove_idle_m_locked(s, m);
        m->idle_next = chain;
        chain = m;
    }
    if (M* m = std::exchange(idle.retired_main, nullptr)) {
        m->idle_next = chain;
        chain = m;
    }
    idle.lock.unlock();
    while (chain != nullptr) {
        M* next = chain->idle_next;
        wake_m(chain);
        chain = next;
    }
}

}  // namespace weft::detail
