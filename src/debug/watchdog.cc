// watchdog.cc: see watchdog.h.
#include "debug/watchdog.h"

#include <algorithm>

#include "base/report_hook.h"
#include "base/time_units.h"
#include "debug/g_snapshot.h"
#include "os/os.h"
#include "sched/priority_queues.h"
#include "sched/scheduler.h"

namespace weft::detail {

namespace {

struct runnable_since {
    bool is;
    uint64_t id;
    int64_t ns;

    // They may be changing; then the next look finds others.
    WEFT_NO_SANITIZE explicit runnable_since(const G& g) noexcept
        : is(g.state.load(acquire) == g_state::runnable),  // pairs with set_state
          id(__atomic_load_n(&g.id, __ATOMIC_RELAXED)),
          ns(__atomic_load_n(&g.since_ns, __ATOMIC_RELAXED)) {}
};

void print_who(report& out, const G& g, uint64_t id) noexcept {
    identity who;
    if (who.read(g) && who.id == id) {
        who.print(out);
    } else {
        out.print("green thread %llu (has ended)", static_cast<unsigned long long>(id));
    }
}

}  // namespace

watched::watched(const scheduler&, int64_t allowed_ns) noexcept
    : allowed_ns_(allowed_ns), period_ns_(std::max(allowed_ns / looks, shortest_period_ns)) {}

void watched::look(scheduler& s, int64_t now_ns, int64_t late_by_ns) noexcept {
    if (late_by_ns > late_ns) {
        report(os::stderr_fd, report::patience::little)
            .print("weft: watchdog: the monitor was %lld ms late: the process was stopped, or got no CPU time\n",
                   static_cast<long long>(late_by_ns / ns_per_ms));
        forget();
    }
    look_at_running(s, now_ns);
    look_at_queued(s, now_ns);
    forgets_ = false;
}

// Whether m has run one G for too long, unreported so far.
bool watched::is_overdue(M& m, int64_t now_ns, finding& f) const noexcept {
    const m_snapshot now(m);
    if (now.g == nullptr || m.in_call.load(relaxed_count)) {
        m.watched = {};
        return false;
    }
    const uint64_t id = id_of(*now.g);
    const uint64_t tick = now.has_p ? now.p->tick() + 1 : 0;
    const uint64_t yields = m.empty_yields.load(relaxed_count);
    if (forgets_ || m.watched.g != now.g || m.watched.id != id || m.watched.empty_yields != yields ||
        (tick != 0 && m.watched.tick != tick)) {
        m.watched = {now.g, id, tick, yields, now_ns, false};
        return false;
    }
    if (m.watched.reported || now_ns - m.watched.since_ns < allowed_ns_) return false;
    m.watched.reported = true;
    f = {now.g, id, now_ns - m.watched.since_ns};
    return true;
}

void watched::look_at_running(scheduler& s, int64_t now_ns) noexcept {
    finding found[found_max];
    uint32_t count = 0;
    if (!lock_soon(s.threads_lock)) return;
    for (M* m = s.all_ms; m != nullptr && count < found_max; m = m->all_next) {
        if (is_overdue(*m, now_ns, found[count])) ++count;
    }
    s.threads_lock.unlock();
    for (uint32_t i = 0; i < count; ++i) {
        if (!may_report(now_ns)) continue;
        report out(os::stderr_fd, report::patience::little);
        out.print("weft: watchdog: ");
        print_who(out, *found[i].g, found[i].id);
        out.print(
            " has run for %lld ms without entering the scheduler; call weft::yield(), or weft::blocking() around a "
            "call that blocks\n",
            static_cast<long long>(found[i].ns / ns_per_ms));
        print_running(out, s, *found[i].g, found[i].id);
        out.flush();
        call_report_hook(reported::watchdog);
    }
}

// Requires: g is runnable. If the table is full, g is watched after others have run.
void watched::see_queued(const G& g, uint64_t id, int64_t since_ns, int64_t now_ns) noexcept {
    queued* free = nullptr;
    for (queued& q : queued_) {
        if (q.g == &g && q.id == id && q.since_ns == since_ns) {
            q.still = true;
            return;
        }
        if (q.g == nullptr && free == nullptr) free = &q;
    }
    if (free != nullptr) *free = {&g, id, since_ns, now_ns, false, true};
}

void watched::look_at_queued(scheduler& s, int64_t now_ns) noexcept {
    for (queued& q : queued_) {
        if (forgets_) q = {};
        q.still = false;
    }
    if (anything_to_do(s, long_ago)) {
        s.gs.for_each([&](const G& g) {
            const runnable_since seen(g);
            if (seen.is && seen.ns <= now_ns - period_ns_) see_queued(g, seen.id, seen.ns, now_ns);
        });
        for (uint32_t i = 0; i < s.ps.reach(); ++i) {
            if (s.ps[i].has_work()) ask_to_hurry(s.ps[i]);
        }
    }
    for (queued& q : queued_) {
        if (!q.still) q = {};
        if (q.g == nullptr || q.reported || now_ns - q.seen_ns < allowed_ns_) continue;
        q.reported = true;
        if (!may_report(now_ns)) continue;
        report out(os::stderr_fd, report::patience::little);
        out.print("weft: watchdog: ");
        print_who(out, *q.g, q.id);
        out.print(" has been runnable for %lld ms without running; %u of %u Ps are idle\n",
                  static_cast<long long>((now_ns - q.seen_ns) / ns_per_ms), s.idle.ps.count(),
                  s.ps.in_use());  // a snapshot
        print_queued(out, *q.g, q.id);
        out.flush();
        call_report_hook(reported::watchdog);
    }
}

// Returns false beyond this minute's limit.
bool watched::may_report(int64_t now_ns) noexcept {
    if (now_ns - minute_began_ns_ >= minute_ns) {
        if (left_out_ != 0) {
            report(os::stderr_fd, report::patience::little)
                .print("weft: watchdog: %llu more reports were left out\n", static_cast<unsigned long long>(left_out_));
        }
        minute_began_ns_ = now_ns;
        reports_ = 0;
        left_out_ = 0;
    }
    if (reports_ < reports_max) {
        ++reports_;
        return true;
    }
    if (left_out_++ == 0)
        report(os::stderr_fd, report::patience::little)
            .print("weft: watchdog: more reports are left out until a minute has passed\n");
    return false;
}

}  // namespace weft::detail
