// deadlock.cc: detects that all green threads wait and nothing can wake one.
//
// A wrong report is worse than silence. While weft::main runs and everything sleeps, a runtime's
// monitor searches (deadlock_watch.h). Holding no lock, it checks:
//
//   1  Each runtime: not stopping; all Ps idle; nothing queued; no timer set; no G running, or in a
//      call, without a P; all Ms asleep or ended; no external thread at work on it; its monitor and
//      thread maker, if any, begun (otherwise 2 would count them as foreign). Runtimes left to
//      stragglers, all back, and those of components, do not count. At least one G exists.
//   2  All threads are Ms, monitors, thread makers, or threads of components. Skipped with
//      deadlock=strict.
//   3  No external_waker exists, and no G waits for a file or signal.
//   4  A moment later all this still holds, with equal counts of schedules, starts and wakes.
//
// A G that waits for a place for a blocking call waits for Ms in such calls, which make 1 false.
//
// The searching monitor checks no P meanwhile. So it waits for 4 only if a deadlock is possible.
//
// Check 2 catches a thread about to wake a G while it lives, 1 its effects after it has ended, and
// 4 the time between.
//
// The process exits without destructors, because threads are asleep at arbitrary points.
//
// Deadlocks of some Gs while others run are only found as cycles, for observers: wait_cycles.h.
//
// Rejected. Aborting: a core
// tells less. Searching by the M that went idle last: docs/deadlocks.md.
//
// Threads: a monitor; report_deadlock: any thread.
// See:     docs/deadlocks.md
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <weft/debug.h>
#include <weft/runtime.h>
#include <weft/shared_mutex.h>

#include "base/component_threads.h"
#include "base/generation.h"
#include "base/report_hook.h"
#include "context/sanitizer.h"
#include "debug/dump.h"
#include "debug/g_snapshot.h"
#include "debug/wait_cycles.h"
#include "lifecycle/crash.h"
#include "netpoll/event_source.h"
#include "os/os.h"
#include "per_g/inheritance.h"
#include "sched/current.h"
#include "sched/freeze.h"
#include "sched/scheduler.h"
#include "sched/simulation.h"

namespace weft {

namespace detail {

namespace {

constexpr int64_t confirm_after_ns = 5'000'000;
constexpr uint32_t cycle_max = 64;
constexpr uint32_t listed_max = 8;

constinit atomic<uint32_t> external_wakers{0};

WEFT_NO_SANITIZE bool waits_for_outside(const G& g) noexcept {
    return g.state.load(acquire) == g_state::waiting && is_woken_from_outside(g.reason);  // pairs with set_state
}

struct activity {
    uint64_t sum = 0;
    bool asleep = true;        // 1 and 3 hold
    bool outside_can = false;  // 3 fails

    // Checks 1 for s.
    void look_at(scheduler& s) noexcept {
        idle_guard held(s.idle);
        s.threads_lock.lock();
        bool all_ended = true;
        bool all_asleep = true;
        for (const M* m = s.all_ms; m != nullptr; m = m->all_next) {
            const bool ended = m->has_ended.load(acquire);  // pairs with m_thread
            all_ended = all_ended && ended;
            all_asleep = all_asleep && (ended || m->on_idle_list || m == s.idle.retired_main);
        }
        s.threads_lock.unlock();
        if (all_ended && s.stopping.load(acquire)) {  // acquire: as below. It was left to stragglers, which are back
            return;
        }
        asleep = asleep && all_asleep && s.sysmon.has_begun() && !s.maker.is_starting();
        const bool all_idle = s.idle.ps.count() == s.ps.alive() && s.idle.absent.without_p == 0 &&
                              s.idle.spinning.load(relaxed_locked) == 0;
        held.unlock();
        // acquire: sees earlier effects
        const bool ends = s.stopping.load(acquire) || s.cancelling.load(acquire);  // acquire: as above
        asleep = asleep && all_idle && !ends && s.external_refs.load(acquire) == 0 &&
                 earliest_alarm(s) == never &&  // acquire: as above
                 !anything_to_do(s, long_ago);
        if (asleep && poll_desc::any()) {  // added to any runtime's poller
            s.gs.for_each([&](const G& g) { outside_can = outside_can || waits_for_outside(g); });
            asleep = !outside_can;
        }
        for (uint32_t i = 0; i < s.ps.made(); ++i) sum += s.ps[i].tick() + s.ps[i].count.spawned.get();
        // acquire: as above
        sum += s.external_spawns.load(acquire) + s.wakes.load(acquire) + s.external_parks.load(acquire);
    }
};

struct everywhere {
    activity all;

    static bool visit(void* closure, scheduler& s) noexcept {
        auto& e = *static_cast<everywhere*>(closure);
        if (is_from_before_fork(s)) return true;    // no thread of it exists here
        if (is_component_runtime(&s)) return true;  // what it does wakes no green thread of the program
        e.all.look_at(s);
        return e.all.asleep;
    }
};

activity look_everywhere() noexcept {
    everywhere e;
    WEFT_FULL_FENCE();
    e.all.outside_can = external_wakers.load(acquire) != 0 ||  // 3. Pairs with count_external_wakers
                        standing_source_is_awaited();
    e.all.asleep = !e.all.outside_can;
    if (e.all.asleep) visit_schedulers(&everywhere::visit, &e);
    return e.all;
}

struct thread_search {
    int tid;
    bool found = false;

    static bool visit(void* closure, scheduler& s) noexcept {
        auto& t = *static_cast<thread_search*>(closure);
        t.found = t.tid == s.sysmon.tid() || t.tid == s.maker.tid();
        s.threads_lock.lock();
        for (const M* m = s.all_ms; m != nullptr && !t.found; m = m->all_next) t.found = m->tid() == t.tid;
        s.threads_lock.unlock();
        return !t.found;
    }
};

// Checks 2.
bool is_ours(void*, int tid) noexcept {
    if (is_component_thread(tid)) return true;
    thread_search search{tid};
    visit_schedulers(&thread_search::visit, &search);
    return search.found;
}

bool there_are_others() noexcept {
    struct {
        bool others = false;
    } seen;

    const bool known = os::for_each_thread(
        [](void* closure, int tid) noexcept {
            const bool ours = is_ours(nullptr, tid);
            if (!ours) static_cast<decltype(seen)*>(closure)->others = true;
            return ours;
        },
        &seen);
    return !known || seen.others;
}

enum class verdict : uint8_t { deadlock, others_can, none };

// Checks 1 to 3 twice, then 4.
verdict judge(bool look_at_threads) noexcept {
    activity before = look_everywhere();
    if (!before.asleep && !before.outside_can) {
        os::sleep_ns(confirm_after_ns);  // another M that came to look is idle again by then
        before = look_everywhere();
    }
    if (before.outside_can) return verdict::others_can;
    if (!before.asleep) return verdict::none;
    if (look_at_threads && there_are_others()) return verdict::others_can;
    os::sleep_ns(confirm_after_ns);
    const activity after = look_everywhere();
    if (!after.asleep || after.sum != before.sum) return verdict::none;
    return look_at_threads && there_are_others() ? verdict::others_can : verdict::deadlock;
}

// ---- The report. With report_deadlock() other threads may wake a G at any moment, and its future
// or mutex may be destroyed. So a G is frozen (freeze.h) while its wait is read. What that leads to
// is only an address, searched among the Gs of all runtimes.

bool is_alive(const G& g) noexcept {
    const g_state state = g.state.load(acquire);  // pairs with set_state
    return state != g_state::dead && state != g_state::idle;
}

uint64_t count_gs(scheduler& s) noexcept {
    uint64_t count = 0;
    s.gs.for_each([&](const G& g) { count += is_alive(g) ? 1U : 0U; });
    return count;
}

bool is_join(wait_reason reason) noexcept {
    return reason == wait_reason::wait_group_wait || reason == wait_reason::scope_join;
}

// nullptr: not begun, or a plain thread. Not atomic<>::load: sanitizers instrument it, unaware that
// freezing orders this before the G's later actions.
WEFT_NO_SANITIZE const void* fulfiller_at(const void* slot) noexcept {
    static_assert(sizeof(atomic<const void*>) == sizeof(const void*), "an atomic pointer has the size of a pointer");
    return __atomic_load_n(static_cast<const void* const*>(slot), __ATOMIC_RELAXED);  // relaxed: a snapshot
}

struct wait_seen {
    const G* g = nullptr;  // nullptr: not waiting. Never dereferenced: its runtime may be gone
    const scheduler* home = nullptr;
    identity who{};
    wait_reason reason = wait_reason::none;
    int64_t since_ns = 0;
    bool ends_otherwise = false;   // a deadline or a cancellation may end the wait
    const void* object = nullptr;  // the mutex, or the lock of the channel or other object
    const void* next = nullptr;    // the G that must act first, if known

    // Requires: g_now belongs to s, which is kept alive.
    WEFT_NO_SANITIZE void take(const scheduler& s, const G& g_now) noexcept {
        if (g_now.state.load(relaxed_hint) != g_state::waiting) return;
        auto* one = const_cast<G*>(&g_now);  // only to freeze it
        const frozen still(&one, 1);
        if (g_now.state.load(acquire) != g_state::waiting || !who.read(g_now)) return;  // pairs with set_state
        reason = g_now.reason;
        since_ns = g_now.since_ns;
        if (const waiter* w = g_now.waiting) read_waiter(*w);
        if (reason == wait_reason::mutex_lock) next = holder_awaited_by(g_now);
        g = &g_now;
        home = &s;
    }

private:
    WEFT_NO_SANITIZE void read_waiter(const waiter& w) noexcept {
        ends_otherwise = w.claim != nullptr;
        const guarded_word* lock = w.lock;
        void* slot = w.slot;
        object = waits_for_lock(reason) ? slot : lock;
        if (slot == nullptr) return;
        if (reason == wait_reason::future_get) next = fulfiller_at(slot);
        if (reason == wait_reason::shared_mutex_lock || reason == wait_reason::shared_mutex_lock_shared)
            next = whose(writer_of(*static_cast<shared_mutex*>(slot)));
    }
};

// wanted may be no G, or one that has ended, or whose runtime is gone.
struct wait_search {
    const void* wanted;
    wait_seen found;

    static bool visit(void* closure, scheduler& s) noexcept {
        auto& search = *static_cast<wait_search*>(closure);
        if (is_from_before_fork(s)) return true;
        const G* g = s.gs.find(search.wanted);
        if (g != nullptr) search.found.take(s, *g);
        return g == nullptr;
    }
};

wait_seen wait_at(const void* wanted) noexcept {
    wait_search search{wanted, {}};
    if (wanted != nullptr) visit_schedulers(&wait_search::visit, &search);
    return search.found;
}

WEFT_NO_SANITIZE uint64_t parent_of(const G& child) noexcept {
    return __atomic_load_n(&child.parent, __ATOMIC_RELAXED);  // relaxed: a snapshot
}

void print_children(report& out, scheduler& s, uint64_t id) noexcept {
    uint32_t count = 0;
    s.gs.for_each([&](const G& child) {
        if (!is_alive(child) || parent_of(child) != id) return;
        if (count < listed_max) {
            out.print(count == 0 ? "; it has started green thread %llu" : ", %llu",
                      static_cast<unsigned long long>(id_of(child)));
        }
        ++count;
    });
    if (count > listed_max) out.print(" and %u more", count - listed_max);
    if (count == 0) out.print("; all green threads that it started have ended");
}

// G numbers are per runtime.
const char* whereabouts(const scheduler& s, const scheduler* home) noexcept {
    return home == &s ? "" : " of another runtime";
}

void print_wait(report& out, scheduler& s, const G& g) noexcept {
    wait_seen seen;
    seen.take(s, g);
    if (seen.g == nullptr) return;
    out.print("weft:     green thread %llu", static_cast<unsigned long long>(seen.who.id));
    if (seen.who.name[0] != '\0') out.print(" \"%s\"", seen.who.name);
    out.print(": %s", text(seen.reason));
    if (seen.object != nullptr) out.print(" at 0x%zx", reinterpret_cast<uintptr_t>(seen.object));
    const wait_seen other = wait_at(seen.next);
    if (other.g != nullptr) {
        out.print(", which green thread %llu%s %s", static_cast<unsigned long long>(other.who.id),
                  whereabouts(s, other.home), seen.reason == wait_reason::future_get ? "must fulfil" : "holds");
        if (other.g == &g) out.print(" itself");
    }
    if (is_join(seen.reason)) print_children(out, s, seen.who.id);
    out.print("\n");
}

// The chain of waits from a G over mutex holders and fulfillers.
struct wait_chain {
    struct link {
        uint64_t id;
        const scheduler* home;
    };

    link links[cycle_max];
    uint32_t length = 0;

    // Returns whether it leads back to g and g is its first, so that each cycle is reported once.
    bool follow(const scheduler& s, const G& g) noexcept {
        wait_seen seen;
        seen.take(s, g);
        const uint64_t first = seen.who.id;
        while (seen.g != nullptr && seen.next != nullptr && length < cycle_max) {
            seen = wait_at(seen.next);
            if (seen.g == nullptr) return false;
            links[length++] = {seen.who.id, seen.home};
            if (seen.g == &g) return seen.who.id == first;
            if (seen.who.id < first || (seen.who.id == first && seen.g < &g)) return false;
        }
        return false;
    }
};

// A cheap filter: freezing a million waiters would take long.
WEFT_NO_SANITIZE bool may_lead_on(const G& g) noexcept {
    const wait_reason reason = g.reason;
    return reason == wait_reason::future_get || waits_for_lock(reason);
}

bool print_cycle(report& out, scheduler& s, const G& g) noexcept {
    wait_chain chain;
    if (!may_lead_on(g) || !chain.follow(s, g)) return false;
    out.print("weft: a cycle: %llu", static_cast<unsigned long long>(chain.links[chain.length - 1].id));
    for (uint32_t i = 0; i < chain.length; ++i) {
        if (i != 0) out.print(", which");
        out.print(" waits for %llu%s", static_cast<unsigned long long>(chain.links[i].id),
                  whereabouts(s, chain.links[i].home));
    }
    out.print("\n");
    return true;
}

void print_report(scheduler& s, int fd, const char* begin) noexcept {
    constexpr uint64_t waits_max = 100;
    report out(fd);
    const uint64_t count = count_gs(s);
    out.print("%sall green threads are asleep: deadlock\n", begin);
    out.print("weft: %llu of runtime \"%s\" wait, and no timer and no other thread can wake one:\n",
              static_cast<unsigned long long>(count), s.name.c_str());
    uint64_t printed = 0;
    s.gs.for_each([&](const G& g) {
        if (is_alive(g) && printed++ < waits_max) print_wait(out, s, g);
    });
    if (printed > waits_max)
        out.print("weft:     and %llu more\n", static_cast<unsigned long long>(printed - waits_max));
    bool cycle = false;
    s.gs.for_each([&](const G& g) { cycle = (is_alive(g) && print_cycle(out, s, g)) || cycle; });
    if (!cycle && !classes_in_use())
        out.print("weft: to see which green thread holds a mutex: RUN_DEBUG=lockowners=1\n");
    out.print("\n");
    out.flush();
    dump_scheduler(s, fd);
}

// Reports each runtime, since their green threads may wait for each other.
bool report_if_waiting(void* any, scheduler& s) noexcept {
    if (is_from_before_fork(s) || is_component_runtime(&s)) return true;
    if (s.stopping.load(acquire) || count_gs(s) == 0) return true;  // acquire: as look_at
    print_report(s, os::stderr_fd, "weft: fatal: ");
    *static_cast<bool*>(any) = true;
    return true;
}

}  // namespace

uint32_t writer_of(shared_mutex& m) noexcept {
    if ((m.state_.word().load(relaxed_count) & shared_mutex::writer) == 0) return 0;
    return m.writer_.load(relaxed_count) & ~passed_by::any;
}

void for_each_wait_cycle(scheduler& s,
                         void (*each)(void* closure, const wait_cycle_link* links, uint32_t count),
                         void* closure) {
    wait_cycle_link links[cycle_max];
    s.gs.for_each([&](const G& g) {
        if (!is_alive(g) || !may_lead_on(g)) return;
        wait_chain chain;
        if (!chain.follow(s, g)) return;
        uint32_t count = 0;
        wait_seen seen;
        seen.take(s, g);
        while (seen.g != nullptr && !seen.ends_otherwise && count < chain.length) {
            wait_cycle_link& link = links[count++];
            link = {seen.who.id, seen.since_ns, seen.home, seen.object, seen.reason, {}};
            std::memcpy(link.name, seen.who.name, sizeof(link.name));
            seen = wait_at(seen.next);
        }
        if (count == chain.length && seen.g == &g) each(closure, links, count);
    });
}

bool search_for_deadlock(scheduler& s) noexcept {
    // One search at a time: two would see each other awake. After fork, the child ignores the
    // parent's.
    static constinit atomic<uint32_t> looking{0};
    const uint32_t here = fork_generation.load(relaxed_alone) + 1;
    if (looking.exchange(here, acq_rel) == here) return true;  // acq_rel: one of them continues
    const verdict v = judge(s.deadlocks != deadlock_search::strict);
    looking.store(0, release);  // pairs with the exchange
    if (v != verdict::deadlock) return v != verdict::others_can;
    bool any = false;
    visit_schedulers(&report_if_waiting, &any);
    if (!any) return true;
    report(os::stderr_fd)
        .print("weft: the process ends with status %d; RUN_DEBUG=deadlock=0 turns the check off\n", deadlock_exit_code);
    call_report_hook(reported::deadlock);
    std::_Exit(deadlock_exit_code);
}

void count_external_wakers(int change) noexcept {
    // acq_rel: pairs with look_everywhere: a waker's effects are seen before its absence
    external_wakers.fetch_add(static_cast<uint32_t>(change), acq_rel);
}

}  // namespace detail

bool runtime::report_deadlock(int fd) const noexcept {
    if (detail::escapes_simulation("asks for a report of deadlocks; a simulation reports them itself")) return false;
    if (use() == nullptr) return false;  // not held during the check: a thread that pins it could wake a G
    if (detail::judge(false) != detail::verdict::deadlock) return false;
    const detail::runtime_use s = use();
    if (s == nullptr || detail::count_gs(*s) == 0) return false;
    detail::print_report(*s, fd, "weft: ");
    return true;
}

}  // namespace weft
