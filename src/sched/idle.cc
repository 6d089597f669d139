// idle.cc: sleeping and waking Ms. The protocol and its reasons are in idle.h; step numbers refer to it.
#include "sched/idle.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/abandoned.h"
#include "base/assert.h"
#include "os/os.h"
#include "sched/current.h"
#include "sched/outlook.h"
#include "sched/scheduler.h"
#include "sched/start.h"
#include "sched/sysmon.h"

namespace weft::detail {

namespace {

constexpr uint32_t bits_per_word = 64;

void add(atomic<uint32_t>& count, int change) noexcept {
    count.store(count.load(relaxed) + static_cast<uint32_t>(change), relaxed);  // relaxed: written under idle.lock
}

M*& list_for(idle_state& idle, const M* m) noexcept { return m->pinned == nullptr ? idle.idle_ms : idle.pinned_ms; }

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

// p belongs to nobody: puts it on the list. Returns it if it is one too many instead, for the caller to bury without the lock.
P* shelve_p_locked(scheduler& s, P* p) noexcept {
    if (s.ps.is_one_too_many(*p)) return p;
    put_idle_p_locked(s, p);
    return nullptr;
}

// Schedules of all Ps, to see whether anything moves.
uint64_t total_ticks(const scheduler& s) noexcept {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s.ps.reach(); ++i) sum += s.ps[i].tick();
    return sum;
}

// No M is asleep that runs any G; whether another one is to be made. With as many of those as Ps, one without a P is awake: it is on its
// way to sleep and, once it has the lock, will see what was pushed.
bool enough_ms_locked(const scheduler& s) noexcept {
    return s.thread_count.load(relaxed) - s.idle.unavailable - s.idle.off_p >=
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

// Until when an M sleeps, and until when some M does; and whether there is a P that either could take.
struct alarm_times {
    int64_t own_ns;
    int64_t any_ns;
    bool a_p_is_idle;
};

// Whether somebody ought to sleep in the poller, and does not.
bool lacks_poller_locked(const scheduler& s) noexcept {
    return s.io.in_use() && s.idle.polling.load(relaxed) == nullptr;  // relaxed: locked
}

// Puts m on the list and decides until when it sleeps: step 4. period_ns: how long as a near lookout; never: go far (step 5). stays: be the near
// lookout also while no P runs, if somebody sleeps in the poller.
alarm_times lie_down_locked(scheduler& s, M* m, int64_t now_ns, int64_t period_ns, bool stays) noexcept {
    idle_state& idle = s.idle;
    put_idle_m_locked(s, m);
    const uint32_t idle_ps = idle.idle_p_count.load(relaxed);  // relaxed: locked
    const bool busy = idle_ps < s.ps.alive();
    const bool is_near = idle.lookout != nullptr && idle.lookout_near;
    const bool may_stay =
        stays && !is_near && s.ps.alive() > 1 && idle.polling.load(relaxed) != nullptr;  // relaxed: locked
    const bool others_run = (busy || may_stay) && period_ns != never;
    const bool near = others_run && idle_ps != 0;
    const int64_t alarm_ns = idle_ps != 0 ? earliest_deadline(s) : never;
    const int64_t until = std::min(alarm_ns, near ? now_ns + period_ns : never);
    // N1, N3. Who sleeps in the poller is the lookout, too, unless that one is near.
    const bool polls = lacks_poller_locked(s) && !others_run && !(busy && is_near);
    if (polls) idle.polling.store(m, relaxed);  // relaxed: locked
    if (idle.lookout == nullptr || until < idle.lookout_until_ns || (near && !idle.lookout_near) ||
        (polls && !idle.lookout_near)) {
        idle.lookout = m;
        idle.lookout_near = near;
        idle.lookout_until_ns = until;
    }
    publish_wanted_locked(idle);
    if (!near && !polls) m->went_far_ns = now_ns;
    return {idle.lookout == m ? until : never, idle.lookout_until_ns, idle_ps != 0};
}

// Takes a P for an M that is on no list, if there is something to do: step 3. The M then counts as spinning.
P* try_get_up_locked(scheduler& s, const M* m, int64_t now_ns) noexcept {
    if (s.idle.idle_p_count.load(relaxed) == 0) return nullptr;  // relaxed: locked
    if (m->fetched == nullptr && !anything_to_do(s, now_ns)) return nullptr;
    P* p = take_idle_p_locked(s, procs_max);
    add(s.idle.spinning, 1);
    publish_wanted_locked(s.idle);
    return p;
}

// Whether m, which is idle, and could run any G, is one more than there are Ps. When the process ends nobody is: nobody would join it.
bool is_one_too_many_locked(const scheduler& s, const M* m) noexcept {
    if (m->is_main || m->pinned != nullptr || abandoned::at_exit()) return false;
    return s.thread_count.load(relaxed) - s.idle.unavailable - s.idle.off_p >
           s.ps.alive();  // relaxed: a moment later is as good
}

// How long after the last look, or after it lay down, an M looks for a deadlock, if it has so often. others: could end it when it last looked.
constexpr int64_t deadlock_look_after_ns(bool others, int looks) noexcept {
    const int early = others ? 2 : deadlock_early_looks;
    if (looks >= early) return deadlock_look_later_ns;
    return others ? deadlock_look_others_ns : deadlock_look_first_ns << (2 * looks);
}

// When m, which lies down, is to look for a deadlock, if everything sleeps; never: it need not. looks: how often it has done so.
int64_t deadlock_look_locked(scheduler& s, M* m, int64_t now_ns, int looks) noexcept {
    idle_state& idle = s.idle;
    if (!main_is_running() || s.deadlocks == deadlock_search::off || looks >= deadlock_looks) return never;
    if (idle.deadlock_looker != nullptr || idle.off_p != 0) return never;
    if (idle.idle_p_count.load(relaxed) != s.ps.alive() || earliest_deadline(s) != never)
        return never;  // relaxed: locked
    idle.deadlock_looker = m;
    return now_ns + deadlock_look_after_ns(idle.others_seen, looks);
}

// Nobody has come. Not under the lock.
void search_deadlock(scheduler& s) noexcept {
    const bool others = !look_for_deadlock(s);
    s.idle.lock.lock();
    s.idle.others_seen = others;
    s.idle.lock.unlock();
}

// Whether m, which was told, was told what to do, or to end. (Else only to look.)
bool told_what(const scheduler& s, const M* m) noexcept {
    return m->next_p != nullptr || s.stopping.load(relaxed);  // relaxed: the note has synchronised
}

// m, which is on no list, has found nothing to do, and ends. Unlocks.
void end_idle_m(scheduler& s, M* m) noexcept {
    idle_state& idle = s.idle;
    m->retired.store(true, relaxed);  // relaxed: locked, or a look
    ++idle.unavailable;
    // It may have been the lookout, or have slept in the poller.
    M* other = idle.lookout == nullptr || lacks_poller_locked(s) ? take_idle_m_locked(s) : nullptr;
    publish_wanted_locked(idle);
    idle.lock.unlock();
    if (other != nullptr) wake_m(other);
}

// m is on the list, and stays awake for a while.
void stand_by(idle_state& idle, const M* m, int64_t until_ns) noexcept {
    if (idle.one_stands_by.exchange(true, relaxed)) return;  // relaxed: nothing depends on it
    m->park.watch(std::min(until_ns, os::monotonic_ns() + stand_by_ns));
    idle.one_stands_by.store(false, relaxed);  // relaxed: as above
}

// m is on the list. Whether it was told, in until_ns. polls: it sleeps in the poller, and may come back with something in fetched.
bool sleep_or_poll(scheduler& s, M* m, bool polls, int64_t now_ns, int64_t until_ns) noexcept {
    if (!polls) return m->park.sleep(until_ns);
    bool told = true;
    if (m->park.go_elsewhere()) {
        m->fetched = s.io.sleep_in(now_ns, until_ns);
        told = m->park.was_told_elsewhere();
    }
    s.idle.polling.store(nullptr, relaxed);  // relaxed: only its own M does so
    return told;
}

// An M that may have been the lookout, or slept in the poller, runs a G at once, and has not looked for more.
void leave_watch(scheduler& s) noexcept {
    s.idle.lock.lock();
    const bool another = wants_m_locked(s.idle);
    s.idle.lock.unlock();
    if (another) wake_one(s, procs_max, false);
}

// Steps 3 to 5. Returns the P that m has taken because there is something to do, and then m counts as spinning; or nullptr: others have
// told it what to do in next_p and next_g, or, if those are empty, the scheduler is stopping.
P* lie_down_until_told(scheduler& s, M* m) noexcept {
    idle_state& idle = s.idle;
    outlook look{.ticks = total_ticks(s)};
    int64_t ends_ns = never;
    bool stands_by = std::exchange(m->stands_by, false);
    m->park.reset();
    idle.lock.lock();
    int deadlock_searches = idle.others_seen ? 1 : 0;  // then not so early
    if (std::exchange(m->coming, false)) --idle.coming;
    for (;;) {
        if (s.stopping.load(relaxed)) break;  // relaxed: set under the lock
        if (m->next_p != nullptr) {
            // Our pinned G was handed to us, perhaps before we lay down. Somebody else has to look in our place.
            const bool another = wants_m_locked(idle);
            idle.lock.unlock();
            if (another) wake_one(s, procs_max, false);
            return nullptr;
        }
        const int64_t now_ns = os::monotonic_ns();
        if (P* p = try_get_up_locked(s, m, now_ns)) {
            idle.lock.unlock();
            return p;
        }
        if (m->fetched != nullptr) {  // all Ps are taken
            idle.lock.unlock();
            ready_all(std::exchange(m->fetched, nullptr));
            idle.lock.lock();
            continue;
        }
        if (ends_ns == never) {
            ends_ns = now_ns + s.thread_idle_ns;
            look.stays = now_ns - m->went_far_ns < lookout_stays_ns;
        }
        const bool one_too_many = is_one_too_many_locked(s, m);
        if (one_too_many && now_ns >= ends_ns) {
            end_idle_m(s, m);
            return nullptr;
        }
        const alarm_times until = lie_down_locked(s, m, now_ns, look.period_ns, look.stays);
        int64_t until_ns = one_too_many ? std::min(until.own_ns, ends_ns) : until.own_ns;
        const int64_t search_ns = deadlock_look_locked(s, m, now_ns, deadlock_searches);
        until_ns = std::min(until_ns, search_ns);
        const bool polls = idle.polling.load(relaxed) == m;  // relaxed: locked
        idle.lock.unlock();

        if (look.period_ns == never && until.a_p_is_idle) {
            // Step 5: a push, or a timer that is set, from now on reads wanted, or we see it here.
            if (!os::heavy_fence()) until_ns = std::min(until_ns, now_ns + lookout_far_ns);  // F2
            const int64_t earliest_ns = earliest_deadline(s);
            if (earliest_ns < until.any_ns) until_ns = std::min(until_ns, earliest_ns);
            if (anything_to_do(s, now_ns)) until_ns = now_ns;
        }
        if (std::exchange(stands_by, false) && !polls) stand_by(idle, m, until_ns);
        bool told = sleep_or_poll(s, m, polls, now_ns, until_ns);
        if (!told) {
            idle.lock.lock();
            if (m->on_idle_list) {
                remove_idle_m_locked(s, m);
                look.look_again(total_ticks(s));
                if (search_ns != never && m->fetched == nullptr && os::monotonic_ns() >= search_ns) {
                    ++deadlock_searches;
                    idle.lock.unlock();
                    search_deadlock(s);
                    idle.lock.lock();
                }
                if (lacks_poller_locked(s) && m->fetched == nullptr) {  // N3
                    idle.lock.unlock();
                    m->fetched = s.io.poll_if_older(netpoll::busy_ns, os::monotonic_ns());
                    idle.lock.lock();
                }
                continue;
            }
            // Somebody took us off the list at this very moment.
            idle.lock.unlock();
            told = m->park.sleep(never);
            WEFT_ASSERT(told);
        }
        // The M of a pinned G that was told to look may be handed that one meanwhile: it reads what for under the lock.
        if (m->pinned == nullptr && told_what(s, m)) return nullptr;
        m->park.reset();
        idle.lock.lock();
    }
    idle.lock.unlock();
    return nullptr;
}

}  // namespace

void publish_wanted_locked(idle_state& idle) noexcept {
    const bool near = idle.lookout != nullptr && idle.lookout_near;
    const bool none_spins = idle.spinning.load(relaxed) == 0;  // relaxed: written under the lock, as all here
    const bool an_m = idle.idle_p_count.load(relaxed) != 0 && none_spins && !near;  // relaxed: as above
    idle.wanted.store((an_m ? wanted::an_m : 0) | (idle.monitor_far ? wanted::monitor : 0), relaxed);  // relaxed: F2
}

void count_spinner_locked(idle_state& idle, int change) noexcept { add(idle.spinning, change); }

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
    if (s.idle.lookout == m) s.idle.lookout = nullptr;
    if (s.idle.deadlock_looker == m) s.idle.deadlock_looker = nullptr;
}

M* take_idle_m_locked(scheduler& s) noexcept {
    const idle_state& idle = s.idle;
    const M* polling = idle.polling.load(relaxed);                          // relaxed: locked
    const bool all_idle = idle.idle_p_count.load(relaxed) == s.ps.alive();  // relaxed: locked
    const M* last =
        all_idle && polling != nullptr ? polling : idle.lookout;  // a lookout that only stays has nothing to look for
    M* best = nullptr;
    // Three at most, as there is one of each.
    for (M* m = idle.idle_ms; m != nullptr; m = m->idle_next) {
        if (m != idle.lookout && m != polling) {
            best = m;
            break;
        }
        if (best == nullptr || best == last) best = m;
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
    int64_t earliest = never;
    for (uint32_t i = 0; i < s.ps.reach(); ++i) earliest = std::min(earliest, s.ps[i].timers.next_deadline());
    return earliest;
}

P* try_disown_p_locked(M* m) noexcept {
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

void await_thief(const P& p) noexcept {
    // relaxed: a look, the exchange decides
    for (uint32_t attempt = 0; (p.owner.load(relaxed) & attention::asked) != 0; ++attempt) spin_backoff(attempt);
}

P* lock_and_disown_p(scheduler& s, M* m) noexcept {
    for (;;) {
        s.idle.lock.lock();
        if (P* p = try_disown_p_locked(m)) return p;
        s.idle.lock.unlock();
        await_thief(*m->p);
    }
}

void acquire_p(M* m, P* p) noexcept {
    WEFT_ASSERT(m->p == nullptr);
    uintptr_t free = 0;
    const bool ours = p->owner.compare_exchange_strong(free, reinterpret_cast<uintptr_t>(m) | m->home->owner_flags,
                                                       acq_rel, relaxed);  // with release_p
    WEFT_ASSERT(ours);
    p->state.store(p_state::running, relaxed);  // relaxed: for dumps
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

void stop_spinning(scheduler& s, M* m) noexcept {
    WEFT_ASSERT(m->spinning);
    m->spinning = false;
    s.idle.lock.lock();
    add(s.idle.spinning, -1);
    publish_wanted_locked(s.idle);
    const bool another = wants_m_locked(s.idle);
    s.idle.lock.unlock();
    if (another) wake_one(s, procs_max, false);
}

void sleep_until_work(scheduler& s, M* m) noexcept {
    idle_state& idle = s.idle;
    // Step 1.
    P* surplus = shelve_p_locked(s, lock_and_disown_p(s, m));
    if (m->spinning) add(idle.spinning, -1);
    m->spinning = false;
    publish_wanted_locked(idle);
    idle.lock.unlock();
    if (surplus != nullptr) bury_p(s, *surplus);
    sleep_without_p(s, m);
}

bool may_stand_by_locked(const scheduler& s) noexcept {
    const uint32_t busy = s.ps.alive() - s.idle.idle_p_count.load(relaxed) + s.idle.hogs;  // relaxed: locked
    return busy < s.cpus.load(relaxed) && !s.idle.one_stands_by.load(relaxed);             // relaxed: a look
}

void sleep_without_p(scheduler& s, M* m) noexcept {
    // Step 2.
    WEFT_FULL_FENCE();  // F1
    P* p = lie_down_until_told(s, m);
    if (p == nullptr) {
        p = std::exchange(m->next_p, nullptr);
        m->picked = std::exchange(m->next_g, nullptr);
    }
    waiter* fetched = std::exchange(m->fetched, nullptr);
    if (p == nullptr) {  // stopping
        ready_all(fetched);
        return;
    }
    acquire_p(m, p);
    m->spinning = m->picked == nullptr;
    if (!m->spinning && m->pinned == nullptr) leave_watch(s);
    if (fetched != nullptr) ready_polled(m, fetched, s.io.polled_ns());
}

void wake_to_look(scheduler& s) noexcept { wake_one(s, procs_max, true); }

void wake_m(M* m) noexcept {
    scheduler& s = *m->home;  // m may be gone once it is told
    if (m->park.tell()) s.io.interrupt();
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
