// deadlock.cc: all green threads wait, and nothing is left that could wake one.
//
// The problem. Such a program hangs without a word. To say so is worth much, and to say so wrongly is worse than silence. Who waits
// may be woken by a green thread that runs, is queued, or is in a blocking call; by a timer; by any other thread of the process, of
// which a library may have started some; by a signal handler. The first three are known; threads can be counted; for the last
// the program has to say so (external_waker).
//
// When. While somebody runs weft::main, an M of any runtime that lies down as the last one of it, with no alarm, looks again after some
// milliseconds (idle.h). It then is awake, without a P and on no list, and this is what it does, holding no lock:
//
//   1  For each runtime: it does not stop; all Ps are idle, nothing is queued, no timer is set, no G runs, or is in a call, without a P, and
//      every M but the caller is asleep or has ended; nobody from outside is at work on it. One that was left to stragglers, which are all
//      back, does not count. There is at least one G.
//   2  Each thread of the process is an M, a monitor, or a maker of threads. With deadlock=strict this is not asked.
//   3  There is no external_waker.
//   4  A moment later all of it is so still, and none of the counters of schedules, starts and wakes has changed.
//
// Who waits for a place for a blocking call waits for Ms in such calls: those that have a P make 1 false, and those that have none, too.
//
// A thread that was about to wake somebody is seen by 2 as long as it lives; what it has done before it ended is seen by 1. In between, 4.
//
// Then it reports: who waits for what, whom that leads to (holders of mutexes, and who has a shared_mutex alone, with RUN_DEBUG=lockowners; who
// fulfils a future; whom it has started, for joins), a cycle if there is one; the dump; and the process ends with deadlock_exit_code, without
// running destructors: threads are asleep in the middle of anything.
//
// Rejected. Finding part of the Gs in a deadlock while others run (needs owners of everything: a reachability search). Looking from the
// monitor (it would have to wake for that). Aborting (a core of a deadlock tells less than this report; abort() in a handler of
// yours, or a debugger, is at hand).
//
// Who: an M on g0 without a P; report_deadlock: any thread.
// See: docs/deadlocks.md
#include <cstdint>
#include <cstdlib>

#include <weft/debug.h>
#include <weft/runtime.h>
#include <weft/shared_mutex.h>

#include "debug/dump.h"
#include "os/os.h"
#include "sched/current.h"
#include "sched/fork.h"
#include "sched/lending.h"
#include "sched/scheduler.h"

namespace weft {

namespace detail {

namespace {

constexpr int64_t confirm_after_ns = 5'000'000;
constexpr uint32_t cycle_max = 64;
constexpr uint32_t listed_max = 8;

constinit atomic<uint32_t> external_wakers{0};

// What changes if anything goes on.
struct activity {
    uint64_t sum = 0;
    bool asleep = true;  // 1 and 3 hold

    // 1: nothing in s can wake anybody. self: the calling M, or nullptr.
    void look_at(scheduler& s, const M* self) noexcept {
        s.idle.lock.lock();
        s.threads_lock.lock();
        bool all_ended = true;
        bool all_asleep = true;
        for (const M* m = s.all_ms; m != nullptr; m = m->all_next) {
            const bool ended = m->has_ended.load(acquire);  // pairs with m_thread
            all_ended = all_ended && ended;
            all_asleep = all_asleep && (ended || m == self || m->on_idle_list || m == s.idle.retired_main);
        }
        s.threads_lock.unlock();
        if (all_ended && s.stopping.load(acquire)) {  // acquire: as below. It was left to stragglers, which are back
            s.idle.lock.unlock();
            return;
        }
        asleep = asleep && all_asleep;
        const bool all_idle = s.idle.idle_p_count.load(relaxed) == s.ps.alive() && s.idle.off_p == 0 &&
                              s.idle.spinning.load(relaxed) == 0;  // relaxed: locked
        s.idle.lock.unlock();
        // acquire: what was done before is seen
        const bool ends = s.stopping.load(acquire) || s.cancelling.load(acquire);  // acquire: as above
        asleep = asleep && all_idle && !ends && s.outsiders.load(acquire) == 0 &&
                 earliest_deadline(s) == never &&  // acquire: as above
                 !anything_to_do(s, long_ago);
        for (uint32_t i = 0; i < s.ps.made(); ++i) sum += s.ps[i].tick() + s.ps[i].count.spawned.get();
        // acquire: as above
        sum += s.foreign_spawns.load(acquire) + s.wakes.load(acquire) + s.foreign_parks.load(acquire);
    }
};

struct everywhere {
    activity all;
    const M* self;

    static bool visit(void* closure, scheduler& s) noexcept {
        auto& e = *static_cast<everywhere*>(closure);
        if (is_from_before_fork(s)) return true;  // nobody is left there
        e.all.look_at(s, e.self);
        return e.all.asleep;
    }
};

activity look_everywhere(const M* self) noexcept {
    everywhere e{{}, self};
    WEFT_FULL_FENCE();
    if (external_wakers.load(acquire) != 0) e.all.asleep = false;  // 3. Pairs with count_external_wakers
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

// 2.
bool is_ours(void*, int tid) noexcept {
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

// 4, and 1 to 3 twice.
verdict judge(const M* self, bool look_at_threads) noexcept {
    activity before = look_everywhere(self);
    if (!before.asleep) {
        os::sleep_ns(confirm_after_ns);  // an M that came to look as well has lain down again by then
        before = look_everywhere(self);
    }
    if (!before.asleep) return verdict::none;
    if (look_at_threads && there_are_others()) return verdict::others_can;
    os::sleep_ns(confirm_after_ns);
    const activity after = look_everywhere(self);
    if (!after.asleep || after.sum != before.sum) return verdict::none;
    return look_at_threads && there_are_others() ? verdict::others_can : verdict::deadlock;
}

// ---- The report. All Gs wait, and stay as they are.

bool is_alive(const G& g) noexcept {
    const g_state state = g.state.load(acquire);  // pairs with set_state
    return state != g_state::dead && state != g_state::idle;
}

uint64_t count_gs(scheduler& s) noexcept {
    uint64_t count = 0;
    s.gs.for_each([&](const G& g) { count += is_alive(g) ? 1U : 0U; });
    return count;
}

// What g waits at: the mutex, or the lock of the channel or whatever it is; nullptr if unknown.
const void* object_of(const G& g) noexcept {
    const waiter* w = g.waiting;
    if (w == nullptr) return nullptr;
    if (waits_for_lock(g.reason)) return w->slot;
    const guarded_word* lock = w->lock;
    return lock;
}

bool is_join(wait_reason reason) noexcept {
    return reason == wait_reason::wait_group_wait || reason == wait_reason::scope_join;
}

// Looks for a G among those of all runtimes: one that is named here may have been abandoned, and its runtime be gone.
struct g_search {
    const void* wanted;
    const G* found = nullptr;

    static bool visit(void* closure, scheduler& s) noexcept {
        auto& search = *static_cast<g_search*>(closure);
        if (is_from_before_fork(s)) return true;
        const G* g = s.gs.find(search.wanted);
        if (g != nullptr && is_alive(*g)) search.found = g;
        return search.found == nullptr;
    }
};

// Whose function is to fulfil the future that g waits for; nullptr: none that has begun, or a plain thread.
const G* fulfiller_awaited_by(const G& g) noexcept {
    const waiter* w = g.waiting;
    if (w == nullptr || w->slot == nullptr) return nullptr;
    void* at = w->slot;
    // relaxed: it waits, and wrote that long ago
    g_search search{static_cast<const atomic<const void*>*>(at)->load(relaxed)};
    if (search.wanted != nullptr) visit_schedulers(&g_search::visit, &search);
    return search.found;
}

// Who has to go on before g can, if that is known.
const G* awaited_by(const G& g) noexcept {
    switch (g.reason) {
        case wait_reason::future_get:
            return fulfiller_awaited_by(g);
        case wait_reason::shared_mutex_lock:
        case wait_reason::shared_mutex_lock_shared: {
            const waiter* w = g.waiting;
            if (w == nullptr) return nullptr;
            void* at = w->slot;
            return whose(writer_of(*static_cast<shared_mutex*>(at)));
        }
        default:
            return holder_awaited_by(g);
    }
}

// Those that g has started and that have not ended.
void print_children(report& out, scheduler& s, const G& g) noexcept {
    uint32_t count = 0;
    s.gs.for_each([&](const G& child) {
        if (!is_alive(child) || child.parent != g.id) return;
        if (count < listed_max) {
            out.print(count == 0 ? "; it has started green thread %llu" : ", %llu",
                      static_cast<unsigned long long>(child.id));
        }
        ++count;
    });
    if (count > listed_max) out.print(" and %u more", count - listed_max);
    if (count == 0) out.print("; none of those that it has started is left");
}

// Numbers are each runtime's own.
const char* whereabouts(const scheduler& s, const G& g) noexcept {
    return s.gs.find(&g) != nullptr ? "" : " of another runtime";
}

// Each cycle is said once: from the first of it.
bool comes_before(const G& a, const G& b) noexcept { return a.id != b.id ? a.id < b.id : &a < &b; }

void print_wait(report& out, scheduler& s, const G& g) noexcept {
    out.print("weft:     green thread %llu", static_cast<unsigned long long>(g.id));
    if (*g.name_or_empty() != '\0') out.print(" \"%s\"", g.name);
    out.print(": %s", text(g.reason));
    if (const void* at = object_of(g)) out.print(" at %p", at);
    if (const G* who = awaited_by(g)) {
        out.print(", which green thread %llu%s %s", static_cast<unsigned long long>(who->id), whereabouts(s, *who),
                  g.reason == wait_reason::future_get ? "is to fulfil" : "holds");
        if (who == &g) out.print(" itself");
    }
    if (is_join(g.reason)) print_children(out, s, g);
    out.print("\n");
}

// The chain from g over holders of mutexes and those who fulfil futures, if it comes back to g.
bool print_cycle(report& out, scheduler& s, const G& g) noexcept {
    const G* at = &g;
    uint32_t length = 0;
    bool is_first = true;
    do {
        at = awaited_by(*at);
        if (at != nullptr && comes_before(*at, g)) is_first = false;
    } while (at != nullptr && at != &g && ++length < cycle_max);
    if (at != &g || !is_first) return false;
    out.print("weft: a cycle: %llu", static_cast<unsigned long long>(g.id));
    do {
        at = awaited_by(*at);
        out.print(" waits for %llu%s", static_cast<unsigned long long>(at->id), whereabouts(s, *at));
        if (at != &g) out.print(", which");
    } while (at != &g);
    out.print("\n");
    return true;
}

void print_report(scheduler& s, int fd, const char* begin) noexcept {
    constexpr uint64_t waits_max = 100;
    report out(fd);
    const uint64_t count = count_gs(s);
    out.print("%sall green threads are asleep: deadlock\n", begin);
    out.print("weft: %llu of runtime \"%s\" wait, and no timer, no green thread and no other thread can wake one:\n",
              static_cast<unsigned long long>(count), s.name.c_str());
    uint64_t printed = 0;
    s.gs.for_each([&](const G& g) {
        if (is_alive(g) && printed++ < waits_max) print_wait(out, s, g);
    });
    if (printed > waits_max)
        out.print("weft:     and %llu more\n", static_cast<unsigned long long>(printed - waits_max));
    bool cycle = false;
    s.gs.for_each([&](const G& g) { cycle = (is_alive(g) && print_cycle(out, s, g)) || cycle; });
    if (!cycle && !classes_in_use()) out.print("weft: to see who holds mutexes: RUN_DEBUG=lockowners=1\n");
    out.print("\n");
    out.flush();
    dump_scheduler(s, fd);
}

// Of each runtime that has green threads: they may wait for each other.
bool report_if_waiting(void* any, scheduler& s) noexcept {
    if (is_from_before_fork(s) || s.stopping.load(acquire) || count_gs(s) == 0) return true;  // acquire: as look_at
    print_report(s, os::stderr_fd, "weft: fatal: ");
    *static_cast<bool*>(any) = true;
    return true;
}

}  // namespace

bool look_for_deadlock(scheduler& s) noexcept {
    // One at a time: two that look would see each other awake. In the child of fork, who looked in the parent is not there.
    static constinit atomic<uint32_t> looking{0};
    const uint32_t here = fork_generation.load(relaxed) + 1;   // relaxed: changes only while there is one thread
    if (looking.exchange(here, acq_rel) == here) return true;  // acq_rel: one of us goes on
    const M* self = current_m();
    const verdict v = judge(self, s.deadlocks != deadlock_search::strict);
    looking.store(0, release);  // pairs with the exchange
    if (v != verdict::deadlock) return v != verdict::others_can;
    bool any = false;
    visit_schedulers(&report_if_waiting, &any);
    if (!any) return true;
    report(os::stderr_fd)
        .print("weft: the process ends with status %d; RUN_DEBUG=deadlock=0 lets it hang\n", deadlock_exit_code);
    std::_Exit(deadlock_exit_code);
}

void count_external_wakers(int change) noexcept {
    // acq_rel: pairs with look_everywhere: what one has woken is seen before it is gone
    external_wakers.fetch_add(static_cast<uint32_t>(change), acq_rel);
}

}  // namespace detail

bool runtime::report_deadlock(int fd) const noexcept {
    if (use() == nullptr) return false;  // and no longer: whoever pins it could wake somebody
    if (detail::judge(nullptr, false) != detail::verdict::deadlock) return false;
    const detail::runtime_use s = use();
    if (s == nullptr || detail::count_gs(*s) == 0) return false;
    detail::print_report(*s, fd, "weft: ");
    return true;
}

}  // namespace weft
