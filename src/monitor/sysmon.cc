// sysmon.cc: see sysmon.h.
#include "monitor/sysmon.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/assert.h"
#include "handoff/injected.h"
#include "handoff/preempt.h"
#include "handoff/retake.h"
#include "lifecycle/start.h"
#include "sched/scheduler.h"
#include "sched/trim.h"

namespace weft::detail {

namespace {

// Nobody will look for work on his own account: all Ps are busy, or there are no Ms for those that are not.
bool nobody_looks(const idle_state& idle) noexcept {
    if (idle.spinning.load(relaxed) != 0) return false;                         // relaxed: looks, or locked
    return idle.idle_p_count.load(relaxed) == 0 || idle.lacks_m.load(relaxed);  // relaxed: as above
}

}  // namespace

void call_monitor(scheduler& s) noexcept {
    idle_state& idle = s.idle;
    idle.lock.lock();
    bool calls = false;
    if (idle.monitor_far && nobody_looks(idle)) {
        // Work waits for a P, or will before the monitor wakes; or events may. In this order: Leaving, in idle.h.
        const bool queued = anything_to_do(s, long_ago);
        const bool due = earliest_deadline(s) < idle.monitor_until_ns.load(relaxed);  // relaxed: locked
        idle.monitor_polls = s.io.in_use() && !queued;
        calls = queued || due || idle.monitor_polls;
    }
    if (calls) {
        idle.monitor_far = false;
        publish_wanted_locked(idle);
    }
    idle.lock.unlock();
    if (calls) s.sysmon.wake();
}

void monitor::look_soon() noexcept {
    idle_state& idle = home_->idle;
    idle.lock.lock();
    idle.monitor_far = false;
    publish_wanted_locked(idle);
    idle.lock.unlock();
    wake();
}

int monitor::start(scheduler& s) noexcept {
    home_ = &s;
    seen_.reset(
        static_cast<observation*>(std::calloc(procs_max, sizeof(observation))));  // NOLINT: most is never touched
    if (seen_ == nullptr) return ENOMEM;
    const int error = os::start_thread(thread_, &run, this);
    started_ = error == 0;
    return error;
}

bool monitor::stop(int64_t deadline_ns) noexcept {
    if (!started_) return true;
    idle_state& idle = home_->idle;
    idle.lock.lock();
    ending_ = true;
    idle.lock.unlock();
    wake();
    for (int64_t until_ns = deadline_ns; thread_state_.load(acquire) == alive;) {  // pairs with run
        if (os::futex_wait(thread_state_, alive, until_ns)) continue;
        until_ns = os::monotonic_ns() + soon_ns;
        if (!reports() && until_ns - deadline_ns < way_back_ns) continue;
        uint32_t seen = alive;
        // acq_rel: one of the two sees to the thread
        if (thread_state_.compare_exchange_strong(seen, left, acq_rel, acquire)) return false;
    }
    os::join_thread(thread_);
    started_ = false;
    return true;
}

void monitor::await_look() noexcept {
    looking_.lock();
    looking_.unlock();
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
        look_on_time(now_ns);
        home_->watch.act(*home_, now_ns);
    } while (quiet_ < quiet_looks || home_->retakes_always ? stay_near() : go_far());
}

// Looks, at the planned time or later.
void monitor::look_on_time(int64_t now_ns) noexcept {
    if (planned_ns_ != never && now_ns - planned_ns_ > late_ns) {
        disregard(now_ns - planned_ns_, now_ns);
        count.late.fetch_add(1, relaxed);  // relaxed: statistics
    }
    look(now_ns);
    planned_ns_ = now_ns + look_in_ns_;
}

bool monitor::look_meanwhile() noexcept {
    const int64_t now_ns = os::monotonic_ns();
    if (now_ns < planned_ns_) return true;
    if (!is_to_end()) {
        look_on_time(now_ns);
        return true;
    }
    if (end_by_ns_ == never) end_by_ns_ = now_ns + parting_ns;
    return now_ns < end_by_ns_;
}

bool monitor::is_to_end() noexcept {
    idle_state& idle = home_->idle;
    idle.lock.lock();
    const bool ends = ending_;
    idle.lock.unlock();
    return ends;
}

// Sleeps until the next look. False: it is to end.
bool monitor::stay_near() noexcept {
    if (is_to_end()) return false;
    idle_state& idle = home_->idle;
    rests_ = false;
    const int64_t now_ns = os::monotonic_ns();
    planned_ns_ = std::min(now_ns + look_in_ns_, home_->watch.due_ns());
    if (planned_ns_ <= long_ago) planned_ns_ = now_ns;
    if (now_ns - watched_ns_ >= deadlock_watch_ns) {
        idle.lock.lock();
        M* looker = watch_for_deadlock_locked(now_ns);
        idle.lock.unlock();
        if (looker != nullptr) wake_m(looker);
    }
    if (!called_.sleep(planned_ns_)) return true;
    idle.lock.lock();
    called_.reset();  // C3
    idle.lock.unlock();
    return true;
}

// Whether it goes on seeing to it that somebody looks: Deadlocks in idle.h. If not: an M that is to be woken, to do that itself, or nullptr.
M* monitor::watch_for_deadlock_locked(int64_t now_ns) noexcept {
    scheduler& s = *home_;
    idle_state& idle = s.idle;
    watched_ns_ = now_ns;
    const uint64_t ticks = total_ticks(s);
    const bool moves = std::exchange(watched_ticks_, ticks) != ticks;
    idle.deadlock_watched = moves && main_is_running() && s.deadlocks != deadlock_search::off;
    if (idle.deadlock_watched || !idle.deadlock_owed || !lacks_deadlock_looker_locked(s)) return nullptr;
    M* m = take_idle_m_locked(s);
    if (m == nullptr && idle.pinned_ms != nullptr) {
        m = idle.pinned_ms;
        remove_idle_m_locked(s, m);
    }
    publish_wanted_locked(idle);
    return m;
}

// F1 to F4. False: it is to end.
bool monitor::go_far() noexcept {
    scheduler& s = *home_;
    idle_state& idle = s.idle;
    const int64_t now_ns = os::monotonic_ns();
    idle.lock.lock();
    const bool ends = ending_;
    M* looker = ends ? nullptr : watch_for_deadlock_locked(now_ns);
    const int64_t watch_at_ns = idle.deadlock_watched ? now_ns + deadlock_watch_ns : never;
    // With a P idle, deadlines are the sentinel's business; and who makes the last one busy calls.
    int64_t until_ns = nobody_looks(idle) ? earliest_deadline(s) : never;
    idle.monitor_far = true;                         // F1
    idle.monitor_until_ns.store(until_ns, relaxed);  // relaxed: F2, F3
    publish_wanted_locked(idle);
    idle.lock.unlock();
    if (ends) return false;
    if (looker != nullptr) wake_m(looker);

    if (!os::heavy_fence()) until_ns = std::min(until_ns, now_ns + no_fence_ns);  // F2
    bool polls = false;
    if (nobody_looks(idle)) {  // F3
        const bool queued = anything_to_do(s, now_ns);
        polls = s.io.in_use() && !queued;
        until_ns = queued || polls ? now_ns : std::min(until_ns, earliest_deadline(s));
    }
    const int64_t other_ns = std::min(trim_at_ns_, s.watch.due_ns());
    const bool told = called_.sleep(std::min({until_ns, other_ns, watch_at_ns}));  // F4
    rests_ = !told;

    idle.lock.lock();
    if (told) {
        called_.reset();  // C3
        idle.deadlock_watched = main_is_running();
    }
    polls = std::exchange(idle.monitor_polls, false) || polls;
    idle.monitor_far = false;
    publish_wanted_locked(idle);
    idle.lock.unlock();
    planned_ns_ = never;
    // Called again so soon, it stays longer: being called costs more than a few looks.
    const int64_t then_ns = os::monotonic_ns();
    const bool soon = then_ns - now_ns < soon_ns && then_ns < other_ns;
    const bool only_watched = !told && then_ns < std::min(until_ns, other_ns);
    if (!soon && !only_watched) calm_ = std::min(calm_, 0);
    if (soon && polls) io_looks_ = io_looks;
    quiet_ = soon ? -patient_looks : nobody_looks(idle) && !only_watched ? 0 : quiet_looks - 1;
    forget();
    return true;
}

void monitor::forget() noexcept {
    for (uint32_t i = 0; i < home_->ps.made(); ++i) seen_[i] = {};
}

// The last missed_ns count for nobody.
void monitor::disregard(int64_t missed_ns, int64_t now_ns) noexcept {
    for (uint32_t i = 0; i < home_->ps.made(); ++i) {
        observation& seen = seen_[i];
        if (seen.m == nullptr) continue;
        seen.slice_since_ns = std::min(seen.slice_since_ns + missed_ns, now_ns);
        seen.since_ns = std::min(seen.since_ns + missed_ns, now_ns);
        seen.call_since_ns = std::min(seen.call_since_ns + missed_ns, now_ns);
        if (seen.asked_ns != 0) seen.asked_ns = std::min(seen.asked_ns + missed_ns, now_ns);
        seen.cpu_at_ns = seen.missed_at_ns = seen.blocked_ns = 0;
    }
}

void monitor::look_again_in(int64_t ns) noexcept { look_in_ns_ = std::min(look_in_ns_, ns); }

void monitor::look(int64_t now_ns) noexcept {
    scheduler& s = *home_;
    count.looks.fetch_add(1, relaxed);  // relaxed: statistics
    const bool nobody = nobody_looks(s.idle);
    if (nobody) ready_all(s.io.poll_if_older(netpoll::stale_ns, now_ns));  // N4
    const bool queued = anything_to_do(s, nobody ? now_ns : long_ago);     // else timers are the sentinel's
    quiet_ = queued ? 0 : quiet_ + 1;
    storm_ = s.retakes_always && !storm_;
    look_in_ns_ = period_ns();
    if (!queued && s.io.in_use()) look_after_io(now_ns);
    if (hot_ > 0) --hot_;
    if (now_ns - cpus_seen_ns_ >= cpus_ns) follow_cpus(now_ns);
    if (queued && s.moves_threads) spread.look(s, now_ns);
    trim(now_ns);
    if (s.ps.alive() != s.ps.in_use()) {
        quiet_ = 0;
        retire_idle_surplus(s);
    }
    if (queued && s.idle.lacks_m.load(relaxed)) ask_for_m_again(now_ns);  // relaxed: a look
    const bool some_wait = storm_ || (queued && nobody_looks(s.idle) && s.retakes);

    candidate all[candidates_max];
    looking_.lock();
    amiss_ = false;
    const uint32_t n = look_at_ps(all, some_wait, now_ns);
    looking_.unlock();
    if (some_wait) take_note();
    if (n == 0) return;
    const auto needs_idle_m = [](const candidate& c) { return c.reason != why::surplus; };
    const auto heirs = static_cast<uint32_t>(std::count_if(all, all + n, needs_idle_m));
    const bool stops = s.stopping.load(relaxed);  // relaxed: a look. An M that is made then ends at once
    if (!stops && !ensure_idle_ms(heirs)) look_again_in(spare_ns);
    looking_.lock();
    retake(all, n);
    looking_.unlock();
}

// Nothing is queued, and if nobody polls any more it has to be seen: then it is near, but looks no more often than for that, or for the next timer.
// It goes far after some looks that saw an idle P: to be called costs more than those.
void monitor::look_after_io(int64_t now_ns) noexcept {
    const bool needed = nobody_looks(home_->idle);
    if (needed) {
        io_looks_ = io_looks;
    } else if (io_looks_ == 0) {
        return;
    } else {
        --io_looks_;
    }
    quiet_ = io_looks_ == 0 ? quiet_looks : 0;
    look_in_ns_ = netpoll::stale_ns;
    if (needed) look_again_in(std::max(earliest_deadline(*home_) - now_ns, int64_t{0}));
}

// Counts calm looks.
void monitor::take_note() noexcept {
    if (amiss_) {
        calm_ = std::min(calm_, 0);
    } else if (calm_ < calm_looks + calm_doublings) {
        ++calm_;
    }
    look_again_in(period_ns());
}

int64_t monitor::period_ns() const noexcept {
    if (hot_ > 0) return hot_look_ns;
    if (calm_ < calm_looks || quiet_ > 0) return look_ns;  // quiet: until it is far, nobody calls
    return std::min(look_ns << (calm_ - calm_looks), calm_look_ns);
}

void monitor::watch_memory() noexcept {
    watches_memory_.store(true, release);  // pairs with trim
    look_soon();
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
    if (done.more) look_again_in(then_ns - now_ns + trim_pause_ns);
}

void monitor::follow_cpus(int64_t now_ns) noexcept {
    cpus_seen_ns_ = now_ns;
    scheduler& s = *home_;
    const uint32_t n = std::min(os::usable_cpus(), procs_max);
    s.cpus.store(n, relaxed);                   // relaxed: a number
    if (!s.follows_cpus.load(relaxed)) return;  // relaxed: change_procs looks again
    const uint32_t procs = procs_within(s.threads_max, n);
    if (procs == s.ps.in_use()) return;
    try {
        change_procs(s, procs, procs_by::monitor);
    } catch (...) {}  // no memory: it is tried again
}

uint32_t monitor::look_at_ps(candidate* all, bool some_wait, int64_t now_ns) noexcept {
    uint32_t n = 0;
    for (uint32_t i = 0; i < home_->ps.reach() && n < candidates_max; ++i) {
        P& p = home_->ps[i];
        const M* m = holder_of(p.owner.load(acquire));  // pairs with acquire_p
        if (m == nullptr) {
            seen_[i] = {};
            continue;
        }
        const bool as_before = observe(seen_[i], p, m, now_ns);
        why reason = why::none;
        if (home_->ps.is_surplus(p)) {
            reason = m->in_runtime.load(relaxed) == 0 ? why::surplus
                                                      : why::none;  // relaxed: looked at again by the handshake
            look_again_in(after_request_ns);
        } else if (some_wait) {
            if (home_->injected.size() != 0) request_reschedule(p);
            reason = judge(seen_[i], as_before, p, m, now_ns);
        }
        if (reason != why::none) all[n++] = {i, const_cast<M*>(m), reason};
    }
    return n;
}

// Whether m has been at the same schedule since the last look. A call that began in between is no new schedule: the slice goes on.
bool monitor::observe(observation& seen, const P& p, const M* m, int64_t now_ns) noexcept {
    const uint64_t tick = p.tick();
    const uint64_t slice = p.slice();
    const uint64_t calls = m->calls.load(relaxed);  // relaxed: a look
    const bool same_m = seen.m == m;
    const bool as_before = same_m && seen.tick == tick;
    if (as_before && seen.calls == calls) return true;
    // Few schedules since the last look: it may have been long at this one.
    if (same_m && tick - seen.tick <= 1) look_again_in(blocked_allowance_ns);
    if (!same_m) {
        seen = {};
        seen.m = m;
    } else if (calls != seen.calls || has_blocked(seen, m, now_ns)) {
        amiss_ = true;
    }
    seen.calls = calls;
    seen.call_since_ns = now_ns;
    if (as_before) return true;
    seen.tick = tick;
    seen.since_ns = now_ns;
    if (!same_m || seen.slice != slice) {
        seen.slice = slice;
        seen.slice_since_ns = now_ns;
    }
    seen.cpu_at_ns = seen.cpu_ns = seen.asked_ns = 0;
    return false;
}

// Whether m, which has scheduled since its CPU clock was read, was blocked for a while in between: did not run, and did not want to.
bool monitor::has_blocked(observation& seen, const M* m, int64_t now_ns) noexcept {
    if (seen.cpu_at_ns == 0) return false;
    const int64_t cpu_ns = os::thread_cpu_ns(m->tid());
    if (now_ns - seen.cpu_at_ns - (cpu_ns - seen.cpu_ns) < blocked_allowance_ns) return false;
    const int64_t waited_ns = os::thread_waited_ns(m->tid());
    if (os::thread_cpu_ns(m->tid()) == cpu_ns) return false;  // it may be waiting now, and that is not counted yet
    if (seen.missed_at_ns == 0) {
        // The first time: how long it had waited before is not known.
        seen.missed_at_ns = now_ns;
        seen.missed_cpu_ns = cpu_ns;
        seen.missed_wait_ns = waited_ns;
        return false;
    }
    const int64_t before_ns = seen.blocked_ns;
    const int64_t accounted_ns = cpu_ns - seen.missed_cpu_ns + waited_ns - seen.missed_wait_ns;
    seen.blocked_ns = now_ns - seen.missed_at_ns - accounted_ns;
    return seen.blocked_ns - before_ns >= blocked_allowance_ns;
}

// What m, which holds p while others wait for a P, has to lose it for.
monitor::why monitor::judge(observation& seen, bool as_before, P& p, const M* m, int64_t now_ns) noexcept {
    if (!as_before) {
        seen.cpu_at_ns = now_ns;
        seen.cpu_ns = os::thread_cpu_ns(m->tid());
    }
    end_chain(seen, p, m, now_ns);
    if (m->in_runtime.load(relaxed) != 0) return why::none;  // relaxed: looked at again by the handshake
    const bool in_call = m->in_call.load(relaxed);           // relaxed: as above
    if (in_call) {
        amiss_ = true;
        if (storm_ || now_ns - seen.call_since_ns >= call_allowance_ns) return why::in_call;
        look_again_in(call_allowance_ns);
    } else if (storm_) {
        return os::thread_wants_cpu(m->tid()) ? why::burning : why::blocked;
    }
    if (!as_before) return why::none;
    if (now_ns - seen.since_ns >= home_->slice_ns) return judge_late(seen, p, m, now_ns);
    look_again_in(seen.since_ns + home_->slice_ns - now_ns);
    return !in_call && is_blocked(seen, m, now_ns) ? why::blocked : why::none;
}

// As above, of an m whose slice is over: whether in a call or not, as many short ones make a long time, too.
monitor::why monitor::judge_late(observation& seen, P& p, const M* m, int64_t now_ns) noexcept {
    amiss_ = true;
    if (seen.asked_ns != 0) return preempt_grace_over(seen, m, now_ns) ? why::burning : why::none;
    ask_to_yield(seen, p, m, now_ns);
    look_again_in(after_request_ns);
    return why::none;
}

void monitor::ask_to_yield(observation& seen, P& p, const M* m, int64_t now_ns) noexcept {
    seen.asked_ns = seen.cpu_at_ns = now_ns;
    seen.cpu_ns = os::thread_cpu_ns(m->tid());
    request_preempt(*home_, p);
    count.requests.fetch_add(1, relaxed);  // relaxed: statistics
}

// If Gs that come from run_next have gone on in one slice until it is over, and others are queued: asks the one that runs on m to yield.
void monitor::end_chain(observation& seen, P& p, const M* m, int64_t now_ns) noexcept {
    if (seen.slice_since_ns == seen.since_ns || seen.asked_ns != 0) return;
    if (p.queue.empty() && home_->global.size() == 0) return;
    const int64_t left_ns = seen.slice_since_ns + home_->slice_ns - now_ns;
    if (left_ns > 0) {
        look_again_in(left_ns);
        return;
    }
    amiss_ = true;
    ask_to_yield(seen, p, m, now_ns);
}

// Whether m, which was asked to yield, has run for long enough since to do so; or nobody can wait for that any longer.
bool monitor::preempt_grace_over(const observation& seen, const M* m, int64_t now_ns) noexcept {
    if (now_ns - seen.asked_ns >= preempt_grace_ns) return true;
    if (os::thread_cpu_ns(m->tid()) - seen.cpu_ns >= after_request_ns) return true;
    look_again_in(after_request_ns);
    return false;
}

// Whether m has not run for the time that a blocked one is allowed, and does not want to.
bool monitor::is_blocked(observation& seen, const M* m, int64_t now_ns) noexcept {
    const int64_t elapsed_ns = now_ns - seen.cpu_at_ns;
    const bool first = seen.cpu_at_ns == 0;
    if (!first && elapsed_ns < blocked_allowance_ns) {
        look_again_in(blocked_allowance_ns - elapsed_ns);
        return false;
    }
    const int64_t cpu_ns = os::thread_cpu_ns(m->tid());
    const bool slept = !first && cpu_ns == seen.cpu_ns && !os::thread_wants_cpu(m->tid());
    if (first) look_again_in(blocked_allowance_ns);
    seen.cpu_at_ns = now_ns;
    seen.cpu_ns = cpu_ns;
    return slept;
}

// A P is idle because no thread was to be had.
void monitor::ask_for_m_again(int64_t now_ns) noexcept {
    scheduler& s = *home_;
    if (now_ns >= no_threads_until_ns_) {
        try_missing_m(s);
        if (!s.idle.lacks_m.load(relaxed)) return;  // relaxed: a look
        no_threads_until_ns_ = now_ns + no_thread_ns;
    }
    look_again_in(no_threads_until_ns_ - now_ns);
}

// Sees to it that there are Ms to run the Ps of count candidates. False: some are being made, or cannot be had.
bool monitor::ensure_idle_ms(uint32_t count_wanted) noexcept {
    scheduler& s = *home_;
    s.idle.lock.lock();
    uint32_t there = 0;
    for (const M* m = s.idle.idle_ms; m != nullptr && there < count_wanted; m = m->idle_next) ++there;
    const uint32_t coming = s.idle.coming;
    s.idle.lock.unlock();
    const int64_t now_ns = os::monotonic_ns();
    for (uint32_t i = there + coming; i < count_wanted && now_ns >= no_threads_until_ns_; ++i) {
        if (start_m(s, nullptr, nullptr) == 0) continue;
        s.no_thread.fetch_add(1, relaxed);  // relaxed: statistics
        no_threads_until_ns_ = now_ns + no_thread_ns;
        wake_for_outside(s, procs_max);  // for whoever took it for one that is on its way to sleep
    }
    return there >= count_wanted;
}

void monitor::retake(const candidate* all, uint32_t n) noexcept {
    scheduler& s = *home_;
    idle_state& idle = s.idle;
    bool announced[candidates_max] = {};
    bool any = false;
    for (uint32_t i = 0; i < n; ++i) {
        announced[i] = announce_retake(s.ps[all[i].p], all[i].m);  // R1
        any = any || announced[i];
    }
    if (!any) return;
    bool fenced = (s.owner_flags & attention::fence) != 0;  // then each entry passes a full fence
    if (fenced) {
        WEFT_FULL_FENCE();
    } else {
        fenced = os::heavy_fence();  // R2
    }
    M* heirs = nullptr;
    P* buried[candidates_max];
    uint32_t dead = 0;
    bool one_was_blocked = false;
    idle.lock.lock();
    for (uint32_t i = 0; i < n; ++i) {
        if (!announced[i]) continue;
        P& p = s.ps[all[i].p];
        const bool surplus = all[i].reason == why::surplus;
        if (!fenced || (!surplus && idle.idle_ms == nullptr) || s.stopping.load(relaxed)) {  // relaxed: locked
            withdraw_retake(p);
            continue;
        }
        if (!take_p_locked(p, all[i].m)) continue;
        ++idle.ms_without_p;
        os::want_short_slices(all[i].m->tid(), false);
        all[i].m->has_long_slice = true;
        all[i].m->overran = all[i].reason == why::burning;
        set_hog_locked(idle, all[i].m, all[i].reason == why::burning);
        seen_[all[i].p] = {};
        if (surplus) {
            buried[dead++] = &p;
            continue;
        }
        count_spinner_locked(idle, 1);  // on behalf of the heir
        M* heir = take_idle_m_locked(s);
        heir->next_p = &p;
        heir->idle_next = heirs;
        heirs = heir;
        atomic<uint64_t>& counted = all[i].reason == why::blocked   ? count.retakes_blocked
                                    : all[i].reason == why::burning ? count.retakes_burning
                                                                    : count.retakes_in_call;
        counted.fetch_add(1, relaxed);  // relaxed: statistics
        one_was_blocked = one_was_blocked || all[i].reason == why::blocked;
    }
    publish_wanted_locked(idle);
    idle.lock.unlock();
    if (heirs != nullptr) {
        if (one_was_blocked) calm_ = -retaken_looks;
        hot_ = hot_looks;
        look_again_in(hot_look_ns);
    }
    while (dead != 0) retire_p(s, *buried[--dead]);
    while (heirs != nullptr) {
        M* heir = heirs;
        heirs = heir->idle_next;
        s.wakes.fetch_add(1, relaxed);  // relaxed: statistics
        wake_m(heir);
    }
}

}  // namespace weft::detail
