// park_m.cc: the steps of idle.h: how an M goes idle, sleeps and wakes.
#include <algorithm>
#include <utility>

#include "base/abandoned.h"
#include "base/assert.h"
#include "idle/idle.h"
#include "idle/plan_park.h"
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

namespace {

bool lacks_poller_locked(const scheduler& s) noexcept { return s.io.in_use() && !s.idle.poller.any(); }

// How an M on its list waits.
struct parked {
    bool polls;        // in the poller, not on its note
    bool others_push;  // a P runs and no M scans soon: step 5 is needed
    int64_t until_ns;  // when it wakes by itself
    int64_t any_ns;    // when the sentinel does, m or another
};

void claim_sentinel_locked(sentinel_role& role, M* m, M* first, const park_plan& plan, int64_t until_ns) noexcept {
    if (plan.claim == sentinel_claim::no) return;
    const bool vacant = role.m == nullptr;
    if (plan.claim == sentinel_claim::unless_first_covers && vacant && first != nullptr &&
        first->alarm_ns <= until_ns) {
        role = {first, false, first->alarm_ns};  // m is woken before it, and then need not wake another for timers
    } else if (plan.claim == sentinel_claim::yes || vacant || until_ns < role.until_ns) {
        role = {m, plan.alarm == park_alarm::soon, until_ns};
    }
}

// Step 4.
parked enter_idle_locked(scheduler& s, M* m, int64_t now_ns, const sentinel_backoff& backoff) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    idle_state& idle = s.idle;
    put_idle_m_locked(s, m);
    M* first = idle.poller.waiting_locked();
    const park_facts facts = {
        .some_p_idle = idle.ps.count() != 0,
        .some_p_runs = idle.ps.count() < s.ps.alive(),
        .backs_off = backoff.backs_off(),
        .near_sentinel = idle.sentinel.m != nullptr && idle.sentinel.near,
        .poller_empty = lacks_poller_locked(s),
        .may_join = first != nullptr && m->pinned == nullptr && s.ps.alive() > 1 && !idle.poller.all(),
    };
    const park_plan plan = plan_park(facts);
    int64_t until_ns = plan.alarm == park_alarm::none ? never : earliest_alarm(s);
    if (plan.alarm == park_alarm::soon) until_ns = std::min(until_ns, now_ns + backoff.period_ns);
    const bool polls = plan.place == park_place::poller;
    if (polls) idle.poller.take_locked(m);
    claim_sentinel_locked(idle.sentinel, m, first, plan, until_ns);
    const bool has_alarm = idle.sentinel.m == m || (polls && facts.poller_empty);
    m->alarm_ns = has_alarm ? until_ns : never;
    const bool others_push = facts.some_p_idle && facts.some_p_runs && plan.alarm != park_alarm::soon;
    return {polls, others_push, m->alarm_ns, idle.sentinel.until_ns};
}

// Step 5. Returns until when the M may sleep.
int64_t scan_before_sleep(scheduler& s, const parked& how, int64_t now_ns) noexcept {
    int64_t until_ns = how.until_ns;
    if (!os::heavy_fence()) until_ns = std::min(until_ns, now_ns + sentinel_far_ns);  // F2
    if (anything_to_do(s, now_ns)) return now_ns;
    const int64_t earliest_ns = earliest_alarm(s);  // last: L1
    return earliest_ns < how.any_ns ? std::min(until_ns, earliest_ns) : until_ns;
}

// Step 3: takes a P for m, which is on no list, if there is something to do. m then spins.
P* try_leave_idle_locked(scheduler& s, M* m, int64_t now_ns) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    if (s.idle.ps.count() == 0) return nullptr;
    if (m->fetched == nullptr && !anything_to_do(s, now_ns)) return nullptr;
    count_spinning_locked(s.idle, 1);
    return take_idle_p_locked(s, procs_max);
}

// m is idle and runs any G. False while the process exits, because no thread would join it.
bool is_surplus_locked(const scheduler& s, const M* m) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    if (m->is_main || m->pinned != nullptr || abandoned::at_exit()) return false;
    const absent_ms& absent = s.idle.absent;
    // relaxed: a moment later is as good
    return s.thread_count.load(relaxed) - absent.unavailable - absent.without_p > s.ps.alive();
}

// False: notified m must scan.
bool has_request(const scheduler& s, const M* m) noexcept {
    return m->next_p != nullptr || s.stopping.load(relaxed);  // relaxed: the note has synchronised
}

// m is on no list. If it was the sentinel, waited in the poller, or was to wake for a timer that it
// saw in step 5, another M takes that over.
void end_idle_m(scheduler& s, M* m, idle_guard& held) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    idle_state& idle = s.idle;
    m->retired.store(true, relaxed);  // relaxed: locked, or a look
    ++idle.absent.unavailable;
    const bool lacks_alarm = idle.sentinel.m == nullptr || earliest_alarm(s) < idle.sentinel.until_ns;
    const bool lacks_one = idle.ps.count() != 0 && (lacks_alarm || lacks_poller_locked(s));
    M* other = lacks_one ? take_idle_m_locked(s) : nullptr;
    held.unlock();
    if (other != nullptr) wake_m(other);
}

// m is on its list. Returns whether it was notified before until_ns. May set fetched.
bool sleep_or_poll(scheduler& s, M* m, bool polls, int64_t until_ns) noexcept {
    if (!polls) return m->park.sleep(until_ns);
    const bool goes = m->park.go_elsewhere();
    if (goes) m->fetched = s.io.sleep_in(until_ns);
    const bool notified_there = goes && m->park.was_notified_elsewhere();
    if (s.idle.poller.leave(m, notified_there)) s.io.interrupt();
    return !goes || notified_there;
}

// m has woken by itself. Polls if it must (N3). False: another M has just taken m off its list, and
// will notify it.
bool leave_list(scheduler& s,
                M* m,
                sentinel_backoff& backoff,
                idle_guard& held) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    if (!m->on_idle_list) return false;
    remove_idle_m_locked(s, m);
    backoff.scanned(total_ticks(s));
    if (!lacks_poller_locked(s) || m->fetched != nullptr) return true;
    held.unlock();
    m->fetched = s.io.poll_if_older(netpoll::busy_ns, os::monotonic_ns());
    held.lock();
    return true;
}

// Steps 3 to 5. Returns the P that m has taken because there is something to do; m then spins.
// nullptr: next_p and next_g hold a request, or the scheduler is stopping or m must end.
P* park_until_notified(scheduler& s, M* m) noexcept {
    idle_state& idle = s.idle;
    sentinel_backoff backoff{.ticks = total_ticks(s)};
    int64_t ends_ns = never;
    m->park.reset();
    idle_guard held(idle);
    if (std::exchange(m->coming, false)) --idle.absent.coming;
    while (!s.stopping.load(relaxed_locked)) {
        if (m->next_p != nullptr) {
            // It was handed its pinned G, perhaps before it parked. Another M must scan instead.
            held.unlock();
            wake_if_wanted(s);
            return nullptr;
        }
        const int64_t now_ns = m->fetched != nullptr ? s.io.polled_ns() : os::monotonic_ns();
        if (P* p = try_leave_idle_locked(s, m, now_ns)) return p;
        if (m->fetched != nullptr) {  // all Ps are taken
            held.unlock();
            ready_all(std::exchange(m->fetched, nullptr));
            held.lock();
            continue;
        }
        if (ends_ns == never) ends_ns = now_ns + s.thread_idle_ns;
        const bool surplus = is_surplus_locked(s, m);
        if (surplus && now_ns >= ends_ns) {
            end_idle_m(s, m, held);
            return nullptr;
        }
        const parked how = enter_idle_locked(s, m, now_ns, backoff);
        const bool watch = starts_deadlock_watch_locked(s);
        held.unlock();
        if (watch) s.sysmon.watch_deadlock();
        if (has_ring(m)) record_event(m, event_kind::sleep, 0, 0, 0);

        const int64_t until_ns = how.others_push ? scan_before_sleep(s, how, now_ns) : how.until_ns;
        if (!sleep_or_poll(s, m, how.polls, surplus ? std::min(until_ns, ends_ns) : until_ns)) {
            held.lock();
            if (leave_list(s, m, backoff, held)) continue;
            held.unlock();
            const bool notified = m->park.sleep(never);
            WEFT_ASSERT(notified);
        }
        // A pinned M that woke to scan may be handed its G meanwhile: it reads next_p under the
        // lock.
        if (m->pinned == nullptr && has_request(s, m)) return nullptr;
        m->park.reset();
        held.lock();
    }
    return nullptr;
}

}  // namespace

bool all_sleep_locked(const scheduler& s) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    if (s.deadlocks == deadlock_search::off || !main_is_running()) return false;
    return s.idle.ps.count() == s.ps.alive() && s.idle.absent.without_p == 0 && earliest_alarm(s) == never;
}

bool starts_deadlock_watch_locked(scheduler& s) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    idle_state& idle = s.idle;
    if (idle.monitor.watches_deadlock || !all_sleep_locked(s)) return false;
    idle.monitor.watches_deadlock = true;
    return idle.monitor.dormant;
}

bool sleep_until_work(scheduler& s, M* m) noexcept {
    // Step 1.
    P* surplus = nullptr;
    {
        idle_guard held(s.idle);
        P* p = release_p_locked(m, held);
        if (s.ps.is_surplus(*p)) {
            surplus = p;
        } else {
            put_idle_p_locked(s, p);
        }
        if (std::exchange(m->spinning, false)) count_spinning_locked(s.idle, -1);
    }
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
    if (p == nullptr) {  // stopping, or m is to end
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
