// p_watch.cc: see p_watch.h.
#include "monitor/p_watch.h"

#include <algorithm>
#include <cerrno>

#include "handoff/injected.h"
#include "handoff/preempt.h"
#include "os/os.h"
#include "sched/scheduler.h"

namespace weft::detail {

int p_watch::start(scheduler& s) noexcept {
    home_ = &s;
    // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): most of it is never touched
    seen_.reset(static_cast<observation*>(std::calloc(procs_max, sizeof(observation))));
    return seen_ == nullptr ? ENOMEM : 0;
}

void p_watch::forget() noexcept {
    for (uint32_t i = 0; i < home_->ps.made(); ++i) seen_[i] = {};
}

void p_watch::disregard(int64_t missed_ns, int64_t now_ns) noexcept {
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

uint32_t p_watch::check_ps(candidate* all, bool some_wait, bool takes_all, int64_t now_ns) noexcept {
    amiss_ = false;
    takes_all_ = takes_all;
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
            const bool outside = m->in_runtime.load(relaxed) == 0;  // relaxed: the handshake checks again
            if (outside) reason = why::surplus;
            pace_.within(after_request_ns);
        } else if (some_wait) {
            if (home_->injected.size() != 0) request_reschedule(p);
            reason = judge(seen_[i], as_before, p, m, now_ns);
        }
        if (reason != why::none) all[n++] = {i, const_cast<M*>(m), reason};
    }
    return n;
}

// True if m has been at the same schedule since the last check. A call begins no new schedule.
bool p_watch::observe(observation& seen, const P& p, const M* m, int64_t now_ns) noexcept {
    const uint64_t tick = p.tick();
    const uint64_t slice = p.slice();
    const uint64_t calls = m->calls.load(relaxed_hint);
    const bool same_m = seen.m == m;
    const bool as_before = same_m && seen.tick == tick;
    if (as_before && seen.calls == calls) return true;
    // It may have been long at this schedule.
    if (same_m && tick - seen.tick <= 1) pace_.within(blocked_allowance_ns);
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

// True if m, which has scheduled since its CPU clock was read, was blocked for a while in between.
bool p_watch::has_blocked(observation& seen, const M* m, int64_t now_ns) noexcept {
    if (seen.cpu_at_ns == 0) return false;
    const int64_t cpu_ns = os::thread_cpu_ns(m->tid());
    if (now_ns - seen.cpu_at_ns - (cpu_ns - seen.cpu_ns) < blocked_allowance_ns) return false;
    const int64_t waited_ns = os::thread_waited_ns(m->tid());
    if (os::thread_cpu_ns(m->tid()) == cpu_ns) return false;  // it may be waiting now, and that is not counted yet
    if (seen.missed_at_ns == 0) {
        // How long it had waited before is not known.
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

// Returns why m, which holds p while others wait for a P, must lose it.
p_watch::why p_watch::judge(observation& seen, bool as_before, P& p, const M* m, int64_t now_ns) noexcept {
    if (!as_before) {
        seen.cpu_at_ns = now_ns;
        seen.cpu_ns = os::thread_cpu_ns(m->tid());
    }
    end_chain(seen, p, m, now_ns);
    if (m->in_runtime.load(relaxed) != 0) return why::none;  // relaxed: checked again by the handshake
    const bool in_call = m->in_call.load(relaxed);           // relaxed: as above
    if (in_call) {
        amiss_ = true;
        if (takes_all_ || now_ns - seen.call_since_ns >= call_allowance_ns) return why::in_call;
        pace_.within(call_allowance_ns);
    } else if (takes_all_) {
        return os::thread_wants_cpu(m->tid()) ? why::burning : why::blocked;
    }
    if (!as_before) return why::none;
    if (now_ns - seen.since_ns >= home_->slice_ns) return judge_late(seen, p, m, now_ns);
    pace_.within(seen.since_ns + home_->slice_ns - now_ns);
    return !in_call && is_blocked(seen, m, now_ns) ? why::blocked : why::none;
}

// The same after the slice, in a call or not: many short calls take long, too.
p_watch::why p_watch::judge_late(observation& seen, P& p, const M* m, int64_t now_ns) noexcept {
    amiss_ = true;
    if (seen.asked_ns != 0) return preempt_grace_over(seen, m, now_ns) ? why::burning : why::none;
    ask_to_yield(seen, p, m, now_ns);
    pace_.within(after_request_ns);
    return why::none;
}

void p_watch::ask_to_yield(observation& seen, P& p, const M* m, int64_t now_ns) noexcept {
    seen.asked_ns = seen.cpu_at_ns = now_ns;
    seen.cpu_ns = os::thread_cpu_ns(m->tid());
    request_preempt(*home_, p);
    requests.fetch_add(1, relaxed_count);
}

// If Gs from run_next have used up their slice, and others are queued, asks the running one to
// yield.
void p_watch::end_chain(observation& seen, P& p, const M* m, int64_t now_ns) noexcept {
    if (seen.slice_since_ns == seen.since_ns || seen.asked_ns != 0) return;
    if (p.queue.empty() && home_->global.size() == 0) return;
    const int64_t left_ns = seen.slice_since_ns + home_->slice_ns - now_ns;
    if (left_ns > 0) {
        pace_.within(left_ns);
        return;
    }
    amiss_ = true;
    ask_to_yield(seen, p, m, now_ns);
}

// True if m, which was asked to yield, had time for it, or got no CPU for so long that its P is
// taken anyway.
bool p_watch::preempt_grace_over(const observation& seen, const M* m, int64_t now_ns) noexcept {
    if (now_ns - seen.asked_ns >= preempt_grace_ns) return true;
    if (os::thread_cpu_ns(m->tid()) - seen.cpu_ns >= after_request_ns) return true;
    pace_.within(after_request_ns);
    return false;
}

bool p_watch::is_blocked(observation& seen, const M* m, int64_t now_ns) noexcept {
    const int64_t elapsed_ns = now_ns - seen.cpu_at_ns;
    const bool first = seen.cpu_at_ns == 0;
    if (!first && elapsed_ns < blocked_allowance_ns) {
        pace_.within(blocked_allowance_ns - elapsed_ns);
        return false;
    }
    const int64_t cpu_ns = os::thread_cpu_ns(m->tid());
    const bool slept = !first && cpu_ns == seen.cpu_ns && !os::thread_wants_cpu(m->tid());
    if (first) pace_.within(blocked_allowance_ns);
    seen.cpu_at_ns = now_ns;
    seen.cpu_ns = cpu_ns;
    return slept;
}

}  // namespace weft::detail
