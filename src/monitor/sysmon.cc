// sysmon.cc: see sysmon.h.
#include "monitor/sysmon.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/assert.h"
#include "handoff/retake.h"
#include "lifecycle/start.h"
#include "monitor/observe.h"
#include "sched/recording.h"
#include "sched/scheduler.h"
#include "sched/trim.h"

namespace weft::detail {

namespace {

constexpr int64_t way_back_check_ns = 10'000'000;

// True if all Ps are busy, or those that are idle lack Ms: no M will find work by itself.
bool no_m_scans(const idle_state& idle) noexcept {
    if (idle.spinning.load(relaxed) != 0) return false;         // relaxed: a look, or locked
    return idle.ps.count() == 0 || idle.lacks_m.load(relaxed);  // relaxed: as above
}

}  // namespace

void call_monitor(scheduler& s) noexcept {
    idle_state& idle = s.idle;
    {
        const idle_guard held(idle);
        if (!idle.monitor.dormant || !no_m_scans(idle)) return;
        // Work waits for a P, or will before it wakes; or events may. In this order: L1 of idle.h.
        const bool queued = anything_to_do(s, long_ago);
        const bool due = earliest_alarm(s) < idle.monitor.until_ns.load(relaxed_locked);
        idle.monitor.polls = s.io.in_use() && !queued;
        if (!queued && !due && !idle.monitor.polls) return;
        idle.monitor.dormant = false;
    }
    s.sysmon.wake();
}

void monitor::scan_soon() noexcept {
    {
        const idle_guard held(home_->idle);
        home_->idle.monitor.dormant = false;
    }
    wake();
}

int monitor::start(scheduler& s) noexcept {
    home_ = &s;
    int error = ps_.start(s);
    if (error == 0) error = os::start_thread(thread_, &run, this);
    started_ = error == 0;
    return error;
}

bool monitor::stop(int64_t deadline_ns) noexcept {
    if (!started_) return true;
    {
        const idle_guard held(home_->idle);
        ending_ = true;
    }
    wake();
    for (int64_t until_ns = deadline_ns; thread_state_.load(acquire) == alive;) {  // pairs with run
        if (os::futex_wait(thread_state_, alive, until_ns)) continue;
        until_ns = os::monotonic_ns() + way_back_check_ns;
        if (!reports() && until_ns - deadline_ns < way_back_ns) continue;
        uint32_t seen = alive;
        // acq_rel: one of the two cleans up
        if (thread_state_.compare_exchange_strong(seen, left, acq_rel, acquire)) return false;
    }
    os::join_thread(thread_);
    started_ = false;
    return true;
}

void monitor::await_check() noexcept {
    checking_ps_.lock();
    checking_ps_.unlock();
}

void* monitor::run(void* self) noexcept {
    auto& m = *static_cast<monitor*>(self);
    m.tid_.store(os::current_tid(), release);  // pairs with tid; before the name, by which it is found from outside
    char name[16];
    std::snprintf(name, sizeof(name), "%.8s-sysmon", m.home_->name.c_str());
    os::name_thread(name);
    os::set_timeout_slack_ns(os::precise_timeouts);
    os::want_short_slices(os::current_tid(), true);
    m.loop();
    if (m.thread_state_.exchange(ended, acq_rel) == left) os::detach_this_thread();  // pairs with stop
    os::futex_wake_one(m.thread_state_);                                             // only the address: it may be gone
    return nullptr;
}

void monitor::loop() noexcept {
    do {
        const int64_t now_ns = os::monotonic_ns();
        scan_on_time(now_ns);
        watch_for_deadlock(now_ns);
        home_->watch.act(*home_, now_ns);
    } while (pace_.goes_dormant() && !home_->retakes_always ? go_dormant() : stay_active());
}

void monitor::scan_on_time(int64_t now_ns) noexcept {
    if (planned_ns_ != never && now_ns - planned_ns_ > late_ns) {
        ps_.disregard(now_ns - planned_ns_, now_ns);
        count.late.fetch_add(1, relaxed_count);
    }
    scan(now_ns);
    planned_ns_ = now_ns + pace_.next_in_ns();
}

bool monitor::scan_meanwhile() noexcept {
    const int64_t now_ns = os::monotonic_ns();
    if (now_ns < planned_ns_) return true;
    if (!is_to_end()) {
        scan_on_time(now_ns);
        return true;
    }
    if (end_by_ns_ == never) end_by_ns_ = now_ns + parting_ns;
    return now_ns < end_by_ns_;
}

bool monitor::is_to_end() noexcept {
    const idle_guard held(home_->idle);
    return ending_;
}

// Sleeps until the next scan. False: it must end.
bool monitor::stay_active() noexcept {
    if (is_to_end()) return false;
    const int64_t now_ns = os::monotonic_ns();
    planned_ns_ = std::min(now_ns + pace_.next_in_ns(), home_->watch.due_ns());
    if (planned_ns_ <= long_ago) planned_ns_ = now_ns;
    if (!called_.sleep(planned_ns_)) return true;
    const idle_guard held(home_->idle);
    called_.reset();  // C3
    return true;
}

void monitor::begin_watch_if_asked_locked(int64_t now_ns) noexcept {
    if (home_->idle.monitor.watches_deadlock && !deadlock_.watches()) deadlock_.begin(total_ticks(*home_), now_ns);
}

// See deadlock_watch.h.
void monitor::watch_for_deadlock(int64_t now_ns) noexcept {
    scheduler& s = *home_;
    bool searches = false;
    {
        const idle_guard held(s.idle);
        begin_watch_if_asked_locked(now_ns);
        if (now_ns < deadlock_.next_ns()) return;
        searches = deadlock_.check(total_ticks(s), all_sleep_locked(s), now_ns);
        s.idle.monitor.watches_deadlock = deadlock_.watches();
    }
    if (searches) deadlock_.searched(!search_for_deadlock(s), os::monotonic_ns());
}

// A sleep while it is dormant.
struct monitor::dormant_sleep {
    int64_t until_ns = never;  // the next timer, if no M has it as its alarm; now: work waits
    int64_t other_ns = never;  // its other duties
    bool polls = false;        // no M polls for events
};

// F1 to F3. False: it must end.
bool monitor::plan_dormant_sleep(dormant_sleep& plan, int64_t now_ns) noexcept {
    scheduler& s = *home_;
    idle_state& idle = s.idle;
    bool some_p_runs = false;
    {
        const idle_guard held(idle);
        if (ending_) return false;
        begin_watch_if_asked_locked(now_ns);
        // A P that begins to run later is taken off the idle list under the lock, so its Gs see F1.
        some_p_runs = idle.ps.count() < s.ps.alive();
        // With a P idle, timers are the sentinel's duty; and the M that makes the last one busy
        // calls.
        if (no_m_scans(idle)) plan.until_ns = earliest_alarm(s);
        idle.monitor.dormant = true;                          // F1
        idle.monitor.until_ns.store(plan.until_ns, relaxed);  // relaxed: F2, F3
    }
    if (!os::heavy_fence()) {  // F2
        WEFT_FULL_FENCE();     // pushes from outside execute one, too
        if (some_p_runs) plan.until_ns = std::min(plan.until_ns, now_ns + no_fence_ns);
    }
    if (no_m_scans(idle)) {  // F3
        const bool queued = anything_to_do(s, now_ns);
        plan.polls = s.io.in_use() && !queued;
        plan.until_ns = queued || plan.polls ? now_ns : std::min(plan.until_ns, earliest_alarm(s));
    }
    plan.other_ns = std::min({trim_at_ns_, s.watch.due_ns(), deadlock_.next_ns()});
    return true;
}

// False: it must end.
bool monitor::go_dormant() noexcept {
    idle_state& idle = home_->idle;
    const int64_t now_ns = os::monotonic_ns();
    dormant_sleep plan;
    if (!plan_dormant_sleep(plan, now_ns)) return false;
    const bool notified = called_.sleep(std::min(plan.until_ns, plan.other_ns));  // F4
    bool called = false;  // for work: the caller has made it active
    {
        const idle_guard held(idle);
        if (notified) called_.reset();  // C3
        called = !idle.monitor.dormant;
        plan.polls = std::exchange(idle.monitor.polls, false) || plan.polls;
        idle.monitor.dormant = false;
    }
    planned_ns_ = never;
    const int64_t then_ns = os::monotonic_ns();
    const bool soon = then_ns - now_ns < monitor_pace::soon_ns;
    using by = monitor_pace::woken_by;
    by reason = by::work;
    if (!called && then_ns < plan.until_ns) {
        reason = by::other;
    } else if (soon) {
        reason = plan.polls ? by::poller_soon : by::work_soon;
    }
    pace_.become_active(reason, no_m_scans(idle));
    ps_.forget();
    return true;
}

void monitor::scan(int64_t now_ns) noexcept {
    scheduler& s = *home_;
    count.scans.fetch_add(1, relaxed_count);
    const bool no_m = no_m_scans(s.idle);
    if (no_m) ready_all(s.io.poll_if_older(netpoll::stale_ns, now_ns));  // N4
    const bool queued = anything_to_do(s, no_m ? now_ns : long_ago);     // else timers are the sentinel's
    takes_all_ = s.retakes_always && !takes_all_;
    pace_.begin_scan(queued);
    if (!queued && s.io.in_use()) poll_for_others(now_ns);
    if (now_ns - cpus_seen_ns_ >= cpus_ns) follow_cpus(now_ns);
    if (queued && s.moves_threads) spread.look(s, now_ns);
    record_delays(now_ns);
    trim(now_ns);
    if (s.ps.alive() != s.ps.in_use()) {
        pace_.stay_active();
        retire_idle_surplus(s);
    }
    if (queued && s.idle.lacks_m.load(relaxed_hint)) ask_for_m_again(now_ns);
    const bool some_wait = takes_all_ || (queued && no_m_scans(s.idle) && s.retakes);

    p_watch::candidate all[p_watch::candidates_max];
    checking_ps_.lock();
    const uint32_t n = ps_.check_ps(all, some_wait, takes_all_, now_ns);
    checking_ps_.unlock();
    if (some_wait) pace_.judged(ps_.amiss());
    if (n == 0) return;
    const auto needs_idle_m = [](const p_watch::candidate& c) { return c.reason != p_watch::why::surplus; };
    const auto targets = static_cast<uint32_t>(std::count_if(all, all + n, needs_idle_m));
    const bool stops = s.stopping.load(relaxed);  // relaxed: a look. An M that is made then ends at once
    if (!stops && !ensure_idle_ms(targets)) pace_.within(spare_ns);
    retake(all, n);
}

// Nothing is queued. If no M polls, events depend on the monitor, and timers, because no M has an
// alarm.
void monitor::poll_for_others(int64_t now_ns) noexcept {
    const bool needed = no_m_scans(home_->idle);
    pace_.poll(needed);
    if (needed) pace_.within(std::max(earliest_alarm(*home_) - now_ns, int64_t{0}));
}

void monitor::watch_memory() noexcept {
    watches_memory_.store(true, release);  // pairs with trim
    scan_soon();
}

void monitor::trim(int64_t now_ns) noexcept {
    // relaxed: a look; acquire: pairs with watch_memory
    if (watches_memory_.load(relaxed) && watches_memory_.exchange(false, acquire))
        trim_at_ns_ = std::min(trim_at_ns_, now_ns + home_->memory_idle_ns);
    if (now_ns < trim_at_ns_) return;
    trimming done;
    int64_t then_ns = now_ns;
    do {
        done = trim_memory(*home_);
        then_ns = os::monotonic_ns();
    } while (done.more && then_ns - now_ns < trim_part_ns);
    trim_at_ns_ = done.more ? then_ns + trim_pause_ns : done.over ? never : then_ns + home_->memory_idle_ns;
    if (done.more) pace_.within(then_ns - now_ns + trim_pause_ns);
}

void monitor::record_delays(int64_t now_ns) noexcept {
    if (!home_->record->on.load(relaxed_hint) || now_ns - delays_seen_ns_ < delays_ns) return;
    delays_seen_ns_ = now_ns;
    record_cpu_delays(*home_);
}

void monitor::follow_cpus(int64_t now_ns) noexcept {
    cpus_seen_ns_ = now_ns;
    scheduler& s = *home_;
    const uint32_t n = std::min(os::usable_cpus(), procs_max);
    s.cpus.store(n, relaxed_count);
    if (!s.follows_cpus.load(relaxed)) return;  // relaxed: change_procs checks again
    const uint32_t procs = procs_within(s.threads_max, n);
    if (procs == s.ps.in_use()) return;
    try {
        change_procs(s, procs, procs_by::monitor);
    } catch (...) {}  // no memory: it is tried again
}

void monitor::ask_for_m_again(int64_t now_ns) noexcept {
    scheduler& s = *home_;
    if (now_ns >= no_threads_until_ns_) {
        try_missing_m(s);
        if (!s.idle.lacks_m.load(relaxed_hint)) return;
        no_threads_until_ns_ = now_ns + no_thread_ns;
    }
    pace_.within(no_threads_until_ns_ - now_ns);
}

// Makes sure that there are count_wanted idle Ms. False: some are being made, or cannot be.
bool monitor::ensure_idle_ms(uint32_t count_wanted) noexcept {
    scheduler& s = *home_;
    idle_guard held(s.idle);
    uint32_t there = 0;
    for (const M* m = s.idle.ms.any; m != nullptr && there < count_wanted; m = m->idle_next) ++there;
    const uint32_t coming = s.idle.absent.coming;
    held.unlock();
    const int64_t now_ns = os::monotonic_ns();
    for (uint32_t i = there + coming; i < count_wanted && now_ns >= no_threads_until_ns_; ++i) {
        if (start_m(s, nullptr, nullptr) == 0) continue;
        s.no_thread.fetch_add(1, relaxed_count);
        no_threads_until_ns_ = now_ns + no_thread_ns;
        wake_for_outside(s, procs_max);  // for a push that took it for one about to park
    }
    return there >= count_wanted;
}

namespace {

bool fence_for_retake(const scheduler& s) noexcept {
    if ((s.owner_flags & attention::fence) == 0) return os::heavy_fence();  // R2
    WEFT_FULL_FENCE();                                                      // each entry has one, too
    return true;
}

}  // namespace

// R3, R4 for one announced candidate. True: its P was taken.
bool monitor::take_one_locked(const p_watch::candidate& c, bool fenced) noexcept {
    scheduler& s = *home_;
    idle_state& idle = s.idle;
    P& p = s.ps[c.p];
    const bool surplus = c.reason == p_watch::why::surplus;
    if (!fenced || (!surplus && idle.ms.any == nullptr) || s.stopping.load(relaxed_locked)) {
        withdraw_retake(p);
        return false;
    }
    if (!take_p_locked(p, c.m)) return false;
    const bool burning = c.reason == p_watch::why::burning;
    ++idle.absent.without_p;
    os::want_short_slices(c.m->tid(), false);
    c.m->has_long_slice = true;
    c.m->overran = burning;
    set_hog_locked(idle, c.m, burning);
    ps_.forget(c.p);
    if (surplus) return true;
    const bool blocked = c.reason == p_watch::why::blocked;
    atomic<uint64_t>& counted = blocked   ? count.retakes_blocked
                                : burning ? count.retakes_burning
                                          : count.retakes_in_call;
    counted.fetch_add(1, relaxed_count);
    pace_.took_p(blocked);
    return true;
}

void monitor::retake(const p_watch::candidate* all, uint32_t n) noexcept {
    scheduler& s = *home_;
    bool announced[p_watch::candidates_max] = {};
    bool any = false;
    checking_ps_.lock();
    for (uint32_t i = 0; i < n; ++i) {
        announced[i] = announce_retake(s.ps[all[i].p], all[i].m);  // R1
        any = any || announced[i];
    }
    if (!any) {
        checking_ps_.unlock();
        return;
    }
    const bool fenced = fence_for_retake(s);
    M* targets = nullptr;
    P* surplus[p_watch::candidates_max];
    uint32_t surplus_count = 0;
    {
        const idle_guard held(s.idle);
        for (uint32_t i = 0; i < n; ++i) {
            if (!announced[i] || !take_one_locked(all[i], fenced)) continue;
            P& p = s.ps[all[i].p];
            if (all[i].reason == p_watch::why::surplus) {
                surplus[surplus_count++] = &p;
                continue;
            }
            count_spinning_locked(s.idle, 1);  // on behalf of the target
            M* target = take_idle_m_locked(s);
            target->next_p = &p;
            target->idle_next = targets;
            targets = target;
        }
    }
    checking_ps_.unlock();  // before an M may be made: that joins ended ones, which await_check()
    while (surplus_count != 0) retire_p(s, *surplus[--surplus_count]);
    while (targets != nullptr) {
        M* target = targets;
        targets = target->idle_next;
        s.wakes.fetch_add(1, relaxed_count);
        wake_m(target);
    }
}

}  // namespace weft::detail
