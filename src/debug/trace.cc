// trace.cc: RUN_DEBUG=schedtrace: lines in Go's format, for readers and tools that know it.
//
// docs/debugging.md lists the fields. Items of Go without a counterpart are left out, not printed
// as zero.
//
// Never waits: what a stopped thread may hold is tried a few times, then left out.
#include <cstdio>
#include <optional>

#include "base/time_units.h"
#include "debug/g_snapshot.h"
#include "debug/watchdog.h"
#include "os/os.h"
#include "sched/scheduler.h"

namespace weft::detail {

namespace {

const char* text(p_state state) noexcept {
    switch (state) {
        case p_state::idle:
            return "idle";
        case p_state::running:
            return "running";
        case p_state::stopped:
            return "stopped";
        case p_state::dead:
            return "dead";
    }
    return "?";
}

// A number, or nil as in Go.
struct number {
    char text[24];

    number(bool there, uint64_t n) noexcept {
        std::snprintf(text, sizeof(text), there ? "%llu" : "nil", static_cast<unsigned long long>(n));  // NOLINT
    }
};

uint32_t run_next_of(const P& p) noexcept { return p.run_next.load(relaxed_hint) != nullptr ? 1 : 0; }

template <typename T>
T look_at(const atomic<T>& a) noexcept {
    return a.load(relaxed_count);
}

void print_summary(report& out, const scheduler& s, int64_t ms, bool detail) noexcept {
    const uint32_t wanted = look_at(s.idle.wanted);
    out.print(
        "SCHED %lldms: gomaxprocs=%u idleprocs=%u threads=%u spinningthreads=%u needspinning=%u idlethreads=%u "
        "runqueue=%u",
        static_cast<long long>(ms), s.ps.in_use(), s.idle.ps.count(), look_at(s.thread_count), look_at(s.idle.spinning),
        (wanted & wanted::an_m) != 0 ? 1U : 0U, look_at(s.idle.ms.count), s.global.size() + s.injected.size());
    if (detail) {
        out.print(" sysmonwait=%u high=%u low=%u stopping=%u", (wanted & wanted::monitor) != 0 ? 1U : 0U, s.high.size(),
                  s.low.size(), look_at(s.stopping) ? 1U : 0U);
    } else {
        out.print(" [");
        for (uint32_t i = 0; i < s.ps.reach(); ++i) out.print(" %u", s.ps[i].queue.size() + run_next_of(s.ps[i]));
        out.print(" ] schedticks=[");
        for (uint32_t i = 0; i < s.ps.reach(); ++i) out.print(" %llu", static_cast<unsigned long long>(s.ps[i].tick()));
        out.print(" ]");
    }
    if (s.name != "weft") out.print(" runtime=%s", s.name.c_str());
    out.print("\n");
}

void print_p(report& out, const P& p, int64_t m, int64_t now_ns) noexcept {
    const int64_t due_ns = p.timers.next_deadline();
    out.print("  P%u: status=%s schedtick=%llu m=%s runqsize=%u runnext=%u high=%u low=%u nexttimer=", p.index,
              text(p.state.load(relaxed_count)), static_cast<unsigned long long>(p.tick()),
              number(m >= 0, static_cast<uint64_t>(m)).text, p.queue.size(), run_next_of(p), p.high.size(),
              p.low.size());
    if (due_ns == never) {
        out.print("nil\n");
    } else {
        out.print("%lldms\n", static_cast<long long>((due_ns - now_ns) / ns_per_ms));
    }
}

uint64_t id_or_0(const G* g) noexcept { return g == nullptr ? 0 : id_of(*g); }

WEFT_NO_SANITIZE wait_reason reason_of(const G& g) noexcept {
    wait_reason reason;
    __atomic_load(&g.reason, &reason, __ATOMIC_RELAXED);
    return reason;
}

// Read under threads_lock.
struct m_row {
    uint32_t index;
    int tid;
    m_snapshot now;
    uint64_t runs;    // id
    uint64_t pinned;  // id
    bool in_call;
    bool asleep;

    WEFT_NO_SANITIZE explicit m_row(const M& m) noexcept
        : index(m.index),
          tid(m.tid()),
          now(m),
          runs(id_or_0(now.g != nullptr ? now.g : now.lent_by)),
          pinned(id_or_0(now.pinned)),
          in_call(m.in_call.load(relaxed_count)),
          asleep(m.on_idle_list) {}

    void print(report& out) const noexcept {
        out.print("  M%u: p=%s curg=%s incall=%u spinning=%u blocked=%u lockedg=%s tid=%d\n", index,
                  number(now.has_p, now.has_p ? now.p->index : 0).text, number(runs != 0, runs).text, in_call ? 1U : 0U,
                  now.spinning ? 1U : 0U, asleep ? 1U : 0U, number(pinned != 0, pinned).text, tid);
    }
};

// Prints without the lock, which the output's reader may need. Newest first, as in the list.
void print_ms(report& out, scheduler& s) noexcept {
    constexpr uint32_t at_once = 16;
    for (uint64_t below = uint64_t{UINT32_MAX} + 1;;) {
        std::optional<m_row> rows[at_once];
        uint32_t count = 0;
        if (!lock_soon(s.threads_lock)) {
            out.print("  M: (their list is in use)\n");
            return;
        }
        for (const M* m = s.all_ms; m != nullptr && count < at_once; m = m->all_next) {
            if (m->index < below) rows[count++].emplace(*m);
        }
        s.threads_lock.unlock();
        for (const std::optional<m_row>& row : rows) {
            if (!row.has_value()) return;
            row->print(out);
            below = row->index;
        }
    }
}

// Returns -1 if no M fits.
template <typename F>
int64_t index_of_m(scheduler& s, F&& fits) noexcept {
    if (!lock_soon(s.threads_lock)) return -1;
    int64_t found = -1;
    for (const M* m = s.all_ms; m != nullptr && found < 0; m = m->all_next) {
        if (fits(m_snapshot(*m))) found = m->index;
    }
    s.threads_lock.unlock();
    return found;
}

int64_t holder_of(scheduler& s, const P& p) noexcept {
    return index_of_m(s, [&](const m_snapshot& now) { return now.has_p && now.p == &p; });
}

int64_t locked_m_of(scheduler& s, const G& g) noexcept {
    if ((g.special.load(relaxed_count) & special::pinned) == 0) return -1;
    return index_of_m(s, [&](const m_snapshot& now) { return now.pinned == &g; });
}

void print_g(report& out, scheduler& s, const G& g) noexcept {
    const g_state state = g.state.load(acquire);  // pairs with set_state
    if (state == g_state::dead || state == g_state::idle) return;
    runner r;
    const bool runs = (state == g_state::running || state == g_state::in_call) && find_runner(s, &g, r);
    const int64_t locked_m = locked_m_of(s, g);
    out.print("  G%llu: status=%s(%s) m=%s lockedm=%s\n", static_cast<unsigned long long>(id_of(g)), text(state),
              state == g_state::waiting ? text(reason_of(g)) : "", number(runs, r.m).text,
              number(locked_m >= 0, static_cast<uint64_t>(locked_m)).text);
}

void print_details(report& out, scheduler& s) noexcept {
    const int64_t now_ns = os::monotonic_ns();
    for (uint32_t i = 0; i < s.ps.reach(); ++i) print_p(out, s.ps[i], holder_of(s, s.ps[i]), now_ns);
    print_ms(out, s);
    s.gs.for_each([&](const G& g) {
        if (out.goes_on()) print_g(out, s, g);
    });
}

}  // namespace

void print_trace(scheduler& s, int64_t ms, bool detail) noexcept {
    report out(os::stderr_fd, report::patience::little, &s.sysmon);
    print_summary(out, s, ms, detail);
    if (detail) print_details(out, s);
}

}  // namespace weft::detail
