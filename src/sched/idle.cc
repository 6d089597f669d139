// idle.cc: sleeping and waking Ms. The protocol and its reasons are in idle.h; step numbers refer to it.
#include "sched/idle.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"
#include "os/os.h"
#include "sched/scheduler.h"
#include "sched/start.h"

namespace weft::detail {

namespace {

constexpr uint32_t bits_per_word = 64;
constexpr uint32_t creation_backoff_wakes = 1000;

void publish_wanted_locked(idle_state& idle) noexcept {
    const bool near = idle.lookout != nullptr && idle.lookout_near;
    const bool none_spins = idle.spinning.load(relaxed) == 0;  // relaxed: written under the lock, as all here
    const bool wanted = idle.idle_p_count.load(relaxed) != 0 && none_spins && !near;  // relaxed: as above
    idle.wanted.store(wanted ? 1 : 0, relaxed);                                       // relaxed: F2
}

void add(atomic<uint32_t>& count, int change) noexcept {
    count.store(count.load(relaxed) + static_cast<uint32_t>(change), relaxed);  // relaxed: written under idle.lock
}

void put_idle_p_locked(scheduler& s, P* p) noexcept {
    WEFT_ASSERT(!p->has_work());
    s.idle.idle_ps[p->index / bits_per_word] |= uint64_t{1} << (p->index % bits_per_word);
    add(s.idle.idle_p_count, 1);
}

void put_idle_m_locked(scheduler& s, M* m) noexcept {
    WEFT_ASSERT(!m->on_idle_list && m->p == nullptr);
    m->on_idle_list = true;
    m->idle_next = s.idle.idle_ms;
    s.idle.idle_ms = m;
    add(s.idle.idle_m_count, 1);
}

void remove_idle_m_locked(scheduler& s, M* m) noexcept {
    M** link = &s.idle.idle_ms;
    while (*link != m) link = &(*link)->idle_next;
    *link = m->idle_next;
    m->on_idle_list = false;
    add(s.idle.idle_m_count, -1);
    if (s.idle.lookout == m) s.idle.lookout = nullptr;
}

// The most recent idle M, but rather not the lookout; nullptr if there is none.
M* take_idle_m_locked(scheduler& s) noexcept {
    M* m = s.idle.idle_ms;
    if (m != nullptr && m == s.idle.lookout && m->idle_next != nullptr) m = m->idle_next;
    if (m != nullptr) remove_idle_m_locked(s, m);
    return m;
}

void release_p_locked(scheduler& s, M* m) noexcept {
    P* p = m->p;
    m->p = nullptr;
    p->state.store(p_state::idle, relaxed);   // relaxed: for dumps
    uintptr_t word = p->owner.load(relaxed);  // relaxed: the exchange decides
    for (uint32_t attempt = 0;;) {
        if ((word & attention::asked) != 0) {
            spin_backoff(attempt++);        // not under a thief's hands (p.h, I3)
            word = p->owner.load(relaxed);  // relaxed: as above
            continue;
        }
        // acq_rel: whoever acquires it sees all we did with it; relaxed: tried again
        if (p->owner.compare_exchange_weak(word, 0, acq_rel, relaxed)) break;
    }
    put_idle_p_locked(s, p);
}

// Something an M without work could do: step 3.
bool anything_to_do(scheduler& s, int64_t now_ns) noexcept {
    if (s.global.size() != 0) return true;
    for (uint32_t i = 0; i < s.procs; ++i) {
        if (s.ps[i].has_work() || s.ps[i].timers.next_deadline() <= now_ns) return true;
    }
    return false;
}

int64_t earliest_deadline(const scheduler& s) noexcept {
    int64_t earliest = never;
    for (uint32_t i = 0; i < s.procs; ++i) earliest = std::min(earliest, s.ps[i].timers.next_deadline());
    return earliest;
}

// Schedules of all Ps, to see whether anything moves.
uint64_t total_ticks(const scheduler& s) noexcept {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s.procs; ++i) sum += s.ps[i].tick();
    return sum;
}

// No M is asleep; whether another one is to be made. With as many Ms as Ps, one without a P is awake: it is on its way to sleep
// and, once it has the lock, will see what was pushed.
bool may_create_m_locked(scheduler& s) noexcept {
    if (s.thread_count.load(relaxed) >= s.procs) return false;  // relaxed: it only grows while the lock is held
    if (s.idle.creation_backoff == 0) return true;
    --s.idle.creation_backoff;
    return false;
}

// Wakes one M for an idle P. Nothing happens if there is none, or if somebody is on the way already.
void wake_one(scheduler& s, uint32_t preferred, bool from_outside) noexcept {
    idle_state& idle = s.idle;
    idle.lock.lock();
    const bool due =
        from_outside ? idle.spinning.load(relaxed) == 0 : idle.wanted.load(relaxed) != 0;  // relaxed: locked
    if (!due || idle.idle_p_count.load(relaxed) == 0 || s.stopping.load(relaxed)) {        // relaxed: locked
        idle.lock.unlock();
        return;
    }
    M* m = take_idle_m_locked(s);
    if (m == nullptr && !may_create_m_locked(s)) {
        idle.lock.unlock();
        return;
    }
    P* p = take_idle_p_locked(s, preferred);
    add(idle.spinning, 1);  // on behalf of the M that is woken
    publish_wanted_locked(idle);
    idle.lock.unlock();

    if (m != nullptr) {
        m->next_p = p;
        s.wakes.fetch_add(1, relaxed);  // relaxed: statistics
        m->park.wake();
        return;
    }
    if (start_m(s, p) == 0) return;
    // No thread to be had: the P waits for the next push that is due to try.
    idle.lock.lock();
    put_idle_p_locked(s, p);
    add(idle.spinning, -1);
    idle.creation_backoff = creation_backoff_wakes;
    publish_wanted_locked(idle);
    idle.lock.unlock();
}

// Puts m on the list and decides until when it sleeps: step 4. period_ns: how long as a near lookout; never: go far (step 5).
int64_t lie_down_locked(scheduler& s, M* m, int64_t now_ns, int64_t period_ns) noexcept {
    idle_state& idle = s.idle;
    put_idle_m_locked(s, m);
    const bool busy = idle.idle_p_count.load(relaxed) < s.procs;  // relaxed: locked
    const bool near = busy && period_ns != never;
    const int64_t until = std::min(earliest_deadline(s), near ? now_ns + period_ns : never);
    if (idle.lookout == nullptr || until < idle.lookout_until_ns || (near && !idle.lookout_near)) {
        idle.lookout = m;
        idle.lookout_near = near;
        idle.lookout_until_ns = until;
    }
    publish_wanted_locked(idle);
    return idle.lookout == m ? until : never;
}

// Takes a P for m, which is on no list, if there is something to do: step 3. m then counts as spinning.
bool try_get_up_locked(scheduler& s, M* m, int64_t now_ns) noexcept {
    if (s.idle.idle_p_count.load(relaxed) == 0 || !anything_to_do(s, now_ns)) return false;  // relaxed: locked
    m->next_p = take_idle_p_locked(s, procs_max);
    add(s.idle.spinning, 1);
    publish_wanted_locked(s.idle);
    return true;
}

// What a lookout has seen, to decide how long it may sleep next.
struct outlook {
    int64_t period_ns = lookout_near_ns;  // never: go far
    uint64_t ticks = 0;
    int quiet_looks = 0;

    void look_again(uint64_t ticks_now) noexcept {
        quiet_looks = ticks_now == ticks ? quiet_looks + 1 : 0;
        ticks = ticks_now;
        if (quiet_looks >= lookout_rounds) {
            period_ns = never;
        } else {
            period_ns = period_ns == never ? lookout_near_ns : std::min(2 * period_ns, lookout_far_ns);
        }
    }
};

// Steps 3 to 5. Returns with m->next_p set, and then m counts as spinning; or without if the scheduler is stopping.
void lie_down_until_told(scheduler& s, M* m) noexcept {
    idle_state& idle = s.idle;
    outlook look{.ticks = total_ticks(s)};
    m->park.reset();
    idle.lock.lock();
    for (;;) {
        if (s.stopping.load(relaxed)) break;  // relaxed: set under the lock
        const int64_t now_ns = os::monotonic_ns();
        if (try_get_up_locked(s, m, now_ns)) break;
        int64_t until_ns = lie_down_locked(s, m, now_ns, look.period_ns);
        idle.lock.unlock();

        if (look.period_ns == never) {
            // Step 5: a push from now on reads wanted, or we see it here.
            if (!os::heavy_fence()) until_ns = std::min(until_ns, now_ns + lookout_far_ns);  // F2
            if (anything_to_do(s, now_ns)) until_ns = now_ns;
        }
        if (m->park.sleep(until_ns)) return;

        idle.lock.lock();
        if (!m->on_idle_list) {
            // Somebody took us off the list at this very moment.
            idle.lock.unlock();
            const bool told = m->park.sleep(never);
            WEFT_ASSERT(told);
            return;
        }
        remove_idle_m_locked(s, m);
        look.look_again(total_ticks(s));
    }
    idle.lock.unlock();
}

}  // namespace

void acquire_p(M* m, P* p) noexcept {
    WEFT_ASSERT(m->p == nullptr);
    uintptr_t free = 0;
    const bool ours = p->owner.compare_exchange_strong(free, reinterpret_cast<uintptr_t>(m) | m->home->owner_flags,
                                                       acq_rel, relaxed);  // with release_p
    WEFT_ASSERT(ours);
    p->state.store(p_state::running, relaxed);  // relaxed: for dumps
    m->p = p;
}

P* take_idle_p_locked(scheduler& s, uint32_t preferred) noexcept {
    idle_state& idle = s.idle;
    if (idle.idle_p_count.load(relaxed) == 0) return nullptr;  // relaxed: locked
    uint32_t index = preferred;
    if (index >= s.procs || (idle.idle_ps[index / bits_per_word] >> (index % bits_per_word) & 1) == 0) {
        uint32_t word = 0;
        while (idle.idle_ps[word] == 0) ++word;
        index = word * bits_per_word + static_cast<uint32_t>(std::countr_zero(idle.idle_ps[word]));
    }
    idle.idle_ps[index / bits_per_word] &= ~(uint64_t{1} << (index % bits_per_word));
    add(idle.idle_p_count, -1);
    publish_wanted_locked(idle);
    return &s.ps[index];
}

void wake_wanted(scheduler& s) noexcept { wake_one(s, procs_max, false); }

void wake_for_outside(scheduler& s, uint32_t preferred) noexcept {
    WEFT_FULL_FENCE();                                                                         // F1
    if (s.idle.idle_p_count.load(relaxed) == 0 || s.idle.spinning.load(relaxed) != 0) return;  // relaxed: F1
    wake_one(s, preferred, true);
}

bool start_spinning(scheduler& s, M* m) noexcept {
    if (m->spinning) return true;
    idle_state& idle = s.idle;
    idle.lock.lock();
    const uint32_t busy = s.procs - idle.idle_p_count.load(relaxed);  // relaxed: locked, as below
    const bool may = 2 * idle.spinning.load(relaxed) < busy;          // relaxed: locked
    if (may) {
        m->spinning = true;
        add(idle.spinning, 1);
        publish_wanted_locked(idle);
    }
    idle.lock.unlock();
    return may;
}

void stop_spinning(scheduler& s, M* m) noexcept {
    WEFT_ASSERT(m->spinning);
    m->spinning = false;
    s.idle.lock.lock();
    add(s.idle.spinning, -1);
    publish_wanted_locked(s.idle);
    const bool another = s.idle.wanted.load(relaxed) != 0;  // relaxed: locked
    s.idle.lock.unlock();
    if (another) wake_one(s, procs_max, false);
}

void sleep_until_work(scheduler& s, M* m) noexcept {
    idle_state& idle = s.idle;
    // Step 1.
    idle.lock.lock();
    release_p_locked(s, m);
    if (m->spinning) add(idle.spinning, -1);
    m->spinning = false;
    publish_wanted_locked(idle);
    idle.lock.unlock();
    // Step 2.
    WEFT_FULL_FENCE();  // F1

    lie_down_until_told(s, m);
    P* p = std::exchange(m->next_p, nullptr);
    if (p == nullptr) return;  // stopping
    acquire_p(m, p);
    m->spinning = true;
}

void wake_all_to_stop(scheduler& s) noexcept {
    s.idle.lock.lock();
    s.stopping.store(true, relaxed);  // relaxed: read under the lock, or after attention was set
    M* chain = s.idle.idle_ms;
    for (M* m = chain; m != nullptr; m = m->idle_next) {
        m->on_idle_list = false;
        m->next_p = nullptr;
    }
    s.idle.idle_ms = nullptr;
    s.idle.idle_m_count.store(0, relaxed);  // relaxed: locked
    s.idle.lookout = nullptr;
    s.idle.lock.unlock();
    while (chain != nullptr) {
        M* next = chain->idle_next;
        chain->park.wake();
        chain = next;
    }
}

}  // namespace weft::detail
