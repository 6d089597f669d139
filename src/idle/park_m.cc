// park_m.cc: how an M lies down, sleeps, and gets up. The protocol and its reasons are in idle.h; step numbers refer to it.
#include <algorithm>
#include <utility>

#include "base/abandoned.h"
#include "base/assert.h"
#include "idle/idle.h"
#include "idle/sentinel_backoff.h"
#include "lifecycle/start.h"
#include "os/os.h"
#include "sched/scheduler.h"

namespace weft::detail {

M* poller_waiters::waiting_locked() const noexcept {
    for (int seat = 0; seat < 2; ++seat) {
        M* m = at(seat);
        if (m != nullptr && m->on_idle_list) return m;
    }
    return nullptr;
}

uint64_t total_ticks(const scheduler& s) noexcept {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s.ps.reach(); ++i) sum += s.ps[i].tick();
    return sum;
}

bool lacks_deadlock_looker_locked(const scheduler& s) noexcept {
    const idle_state& idle = s.idle;
    if (!main_is_running() || s.deadlocks == deadlock_search::off) return false;
    if (idle.deadlock_looker != nullptr || idle.ms_without_p != 0) return false;
    // relaxed: locked
    return idle.idle_p_count.load(relaxed) == s.ps.alive() && earliest_deadline(s) == never;
}

namespace {

// p belongs to nobody: puts it on the list. Returns it if it is one too many instead, for the caller to bury without the lock.
P* put_idle_or_retire_locked(scheduler& s, P* p) noexcept {
    if (s.ps.is_surplus(*p)) return p;
    put_idle_p_locked(s, p);
    return nullptr;
}

// Until when an M sleeps, and until when some M does; and whether there is a P that either could take.
struct alarm_times {
    int64_t own_ns;
    int64_t any_ns;
    bool a_p_is_idle;
};

// Whether somebody ought to sleep in the poller, and does not.
bool lacks_poller_locked(const scheduler& s) noexcept { return s.io.in_use() && !s.idle.poller.any(); }

// Puts m on the list and decides until when it sleeps: step 4. period_ns: how long as a near sentinel; never: go far (step 5). stays: be the near
// sentinel also while no P runs, if somebody sleeps in the poller.
alarm_times enter_idle_locked(scheduler& s, M* m, int64_t now_ns, int64_t period_ns, bool stays) noexcept {
    idle_state& idle = s.idle;
    put_idle_m_locked(s, m);
    const uint32_t idle_ps = idle.idle_p_count.load(relaxed);  // relaxed: locked
    const bool busy = idle_ps < s.ps.alive();
    const bool is_near = idle.sentinel != nullptr && idle.sentinel_near;
    const bool may_stay = stays && !is_near && s.ps.alive() > 1 && idle.poller.any();
    const bool others_run = (busy || may_stay) && period_ns != never;
    const bool near = others_run && idle_ps != 0;
    const int64_t alarm_ns = idle_ps != 0 ? earliest_deadline(s) : never;
    const int64_t until = std::min(alarm_ns, near ? now_ns + period_ns : never);
    // N1, N3. Who sleeps in the poller is the sentinel, too, unless that one is near.
    const bool polls = lacks_poller_locked(s) && !others_run && !(busy && is_near);
    M* first = idle.poller.waiting_locked();
    const bool joins =
        first != nullptr && !busy && !near && m->pinned == nullptr && s.ps.alive() > 1 && !idle.poller.all();  // N5
    if (polls || joins) idle.poller.take_locked(m);
    int64_t any_ns = idle.sentinel_until_ns;
    const M* before = idle.sentinel;
    if (joins && before == nullptr && first->alarm_ns <= until) {
        // Who joins will be woken first, and then need not see to it that somebody else has an alarm.
        idle.sentinel = first;
        idle.sentinel_near = false;
        any_ns = first->alarm_ns;
    } else if (before == nullptr || until < any_ns || (near && !idle.sentinel_near) || (polls && !idle.sentinel_near)) {
        idle.sentinel = m;
        idle.sentinel_near = near;
        any_ns = until;
    }
    idle.sentinel_until_ns = any_ns;
    m->alarm_ns = polls || idle.sentinel == m ? until : never;
    publish_wanted_locked(idle);
    if (!near && !polls) idle.went_far_ns = now_ns;
    return {m->alarm_ns, any_ns, idle_ps != 0};
}

// Takes a P for an M that is on no list, if there is something to do: step 3. The M then counts as spinning. stays: it was a sentinel that does.
P* try_leave_idle_locked(scheduler& s, M* m, int64_t now_ns, bool stays) noexcept {
    const uint32_t idle_ps = s.idle.idle_p_count.load(relaxed);  // relaxed: locked
    if (idle_ps == 0) return nullptr;
    if (m->fetched == nullptr && !anything_to_do(s, now_ns)) return nullptr;
    if (stays) s.idle.went_far_ns = now_ns;  // if this is soon over it stays again
    m->served_alone = !stays && m->fetched != nullptr && idle_ps == s.ps.alive();
    P* p = take_idle_p_locked(s, procs_max);
    count_spinner_locked(s.idle, 1);
    publish_wanted_locked(s.idle);
    return p;
}

// Whether m, which is idle, and could run any G, is one more than there are Ps. When the process ends nobody is: nobody would join it.
bool is_surplus_locked(const scheduler& s, const M* m) noexcept {
    if (m->is_main || m->pinned != nullptr || abandoned::at_exit()) return false;
    return s.thread_count.load(relaxed) - s.idle.unavailable - s.idle.ms_without_p >
           s.ps.alive();  // relaxed: a moment later is as good
}

// How long after the last look, or after it lay down, an M looks for a deadlock, if it has so often. others: could end it when it last looked.
constexpr int64_t deadlock_look_after_ns(bool others, int looks) noexcept {
    const int early = others ? 2 : deadlock_early_looks;
    if (looks >= early) return deadlock_look_later_ns;
    return others ? deadlock_look_others_ns : deadlock_look_first_ns << (2 * looks);
}

// How many looks an M that lies down counts as done: if others have been seen, it need not look so early.
int deadlock_looks_done_locked(const idle_state& idle) noexcept { return idle.others_seen ? 1 : 0; }

// When m, which lies down, is to look for a deadlock, if everything sleeps; never: it need not. looks: how often it has done so.
int64_t deadlock_look_locked(scheduler& s, M* m, int64_t now_ns, int& looks) noexcept {
    idle_state& idle = s.idle;
    if (!lacks_deadlock_looker_locked(s)) return never;
    if (idle.deadlock_owed && !idle.deadlock_watched) looks = deadlock_looks_done_locked(idle);
    if (looks >= deadlock_looks) return never;
    idle.deadlock_owed = idle.deadlock_watched;
    if (idle.deadlock_watched) return never;
    if (now_ns - idle.deadlock_alarms_since_ns > deadlock_watch_ns) {
        idle.deadlock_alarms_since_ns = now_ns;
        idle.deadlock_alarms = 0;
    }
    ++idle.deadlock_alarms;
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
    // It may have been the sentinel, or have slept in the poller, or have had the alarm for the look for a deadlock.
    const bool lacks_looker = lacks_deadlock_looker_locked(s);
    if (lacks_looker) idle.deadlock_owed = true;
    // Or it was to wake for a timer that it has seen in step 5.
    const bool a_p_is_idle = idle.idle_p_count.load(relaxed) != 0;  // relaxed: locked
    const bool lacks_alarm = a_p_is_idle && earliest_deadline(s) < idle.sentinel_until_ns;
    const bool lacks_one =
        idle.sentinel == nullptr || lacks_alarm || lacks_poller_locked(s) || (lacks_looker && !idle.deadlock_watched);
    M* other = lacks_one ? take_idle_m_locked(s) : nullptr;
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
    const bool goes = m->park.go_elsewhere();
    if (goes) m->fetched = s.io.sleep_in(now_ns, until_ns);
    const bool told_there = goes && m->park.was_told_elsewhere();
    if (s.idle.poller.leave(m, told_there)) s.io.interrupt();
    return !goes || told_there;
}

// Steps 3 to 5. Returns the P that m has taken because there is something to do, and then m counts as spinning; or nullptr: others have
// told it what to do in next_p and next_g, or, if those are empty, the scheduler is stopping.
P* park_until_notified(scheduler& s, M* m) noexcept {
    idle_state& idle = s.idle;
    sentinel_backoff look{.ticks = total_ticks(s)};
    int64_t ends_ns = never;
    bool stands_by = std::exchange(m->stands_by, false);
    m->park.reset();
    idle.lock.lock();
    int deadlock_searches = deadlock_looks_done_locked(idle);
    if (std::exchange(m->coming, false)) --idle.coming;
    for (;;) {
        if (s.stopping.load(relaxed)) break;  // relaxed: set under the lock
        if (m->next_p != nullptr) {
            // Our pinned G was handed to us, perhaps before we lay down. Somebody else has to look in our place.
            idle.lock.unlock();
            wake_if_wanted(s);
            return nullptr;
        }
        const int64_t now_ns = m->fetched != nullptr ? s.io.polled_ns() : os::monotonic_ns();
        if (P* p = try_leave_idle_locked(s, m, now_ns, look.stays)) {
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
            look.stays = !std::exchange(m->served_alone, false) && now_ns - idle.went_far_ns < sentinel_stays_ns;
        }
        const bool surplus_m = is_surplus_locked(s, m);
        if (surplus_m && now_ns >= ends_ns) {
            end_idle_m(s, m);
            return nullptr;
        }
        const alarm_times until = enter_idle_locked(s, m, now_ns, look.period_ns, look.stays);
        int64_t until_ns = surplus_m ? std::min(until.own_ns, ends_ns) : until.own_ns;
        const int64_t search_ns = deadlock_look_locked(s, m, now_ns, deadlock_searches);
        until_ns = std::min(until_ns, search_ns);
        const bool polls = idle.poller.has(m);
        const bool too_many_alarms = search_ns != never && idle.deadlock_alarms == deadlock_alarms_many;
        idle.lock.unlock();
        if (too_many_alarms) s.sysmon.look_soon();

        if (look.period_ns == never && until.a_p_is_idle) {
            // Step 5: a push, or a timer that is set by who goes on, from now on reads wanted, or we see it here.
            if (!os::heavy_fence()) until_ns = std::min(until_ns, now_ns + sentinel_far_ns);  // F2
            if (anything_to_do(s, now_ns)) until_ns = now_ns;
            const int64_t earliest_ns = earliest_deadline(s);  // last: Leaving
            if (earliest_ns < until.any_ns) until_ns = std::min(until_ns, earliest_ns);
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

bool sleep_until_work(scheduler& s, M* m) noexcept {
    idle_state& idle = s.idle;
    // Step 1.
    P* surplus = put_idle_or_retire_locked(s, lock_and_release_p(s, m));
    if (m->spinning) count_spinner_locked(idle, -1);
    m->spinning = false;
    publish_wanted_locked(idle);
    idle.lock.unlock();
    if (surplus != nullptr) retire_p(s, *surplus);
    return sleep_without_p(s, m);
}

bool sleep_without_p(scheduler& s, M* m) noexcept {
    // Step 2.
    WEFT_FULL_FENCE();  // F1
    P* p = park_until_notified(s, m);
    if (p == nullptr) {
        p = std::exchange(m->next_p, nullptr);
        m->picked = std::exchange(m->next_g, nullptr);
    }
    waiter* fetched = std::exchange(m->fetched, nullptr);
    if (p == nullptr) {  // stopping
        ready_all(fetched);
        return false;
    }
    acquire_p(m, p);
    m->spinning = m->picked == nullptr;
    if (!m->spinning && m->pinned == nullptr) wake_if_wanted(s);  // it has not looked for more
    if (fetched == nullptr) return false;
    p->now_ns = std::max(p->now_ns, s.io.polled_ns());
    ready_polled(m, fetched, p->now_ns);
    return true;
}

}  // namespace weft::detail
