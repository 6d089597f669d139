// start.cc: see start.h.
#include "sched/start.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include <weft/detail/cancel.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "context/preempt_word.h"
#include "os/interrupt_signal.h"
#include "os/os.h"
#include "os/signals.h"
#include "sched/belongings.h"
#include "sched/chance.h"
#include "sched/classes.h"
#include "sched/crash.h"
#include "sched/current.h"
#include "sched/debug_options.h"
#include "sched/fork.h"
#include "sched/labels.h"
#include "sched/lending.h"
#include "sched/local.h"
#include "sched/park.h"
#include "sched/preempt.h"
#include "sched/process_exit.h"
#include "sched/schedule.h"
#include "sched/spawn.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

constexpr std::size_t default_stack_size = 256 * 1024;
constexpr std::size_t fixed_stack_size = 64 * 1024;
constexpr std::size_t smallest_stack = 16 * 1024;
constexpr std::size_t largest_default_stack = 64 * 1024 * 1024;
constexpr uint64_t default_threads_max = 10'000;
constexpr int64_t us = 1'000;  // in ns
constexpr int64_t ms = 1'000 * us;
constexpr int64_t sec = 1'000 * ms;
constexpr int64_t default_slice_ns = 10 * ms;
constexpr int64_t shortest_slice_ns = 10 * us;
constexpr int64_t longest_slice_ns = 10 * sec;
constexpr int64_t default_thread_idle_ns = 5 * sec;
constexpr std::chrono::milliseconds longest_watchdog =
    std::chrono::hours(365 * 24);      // no process will know the difference
constexpr uint32_t few_threads = 256;  // a limit below which threads are always scarce
constexpr int64_t main_thread_grace_ns = 100'000'000;

// How many threads there may be for Ps and calls. With a high limit, calls that began while threads were not scarce have the other half.
uint32_t threads_shared(const scheduler& s) noexcept {
    return s.threads_max < few_threads ? s.threads_max : s.threads_max / 2;
}

// Whether a declared blocking call may find nobody to take its P over: with a low limit always, with a high one when half of it is used.
// Not where there are not even enough threads for the Ps: then it keeps its P, and nobody is helped if it waits.
bool are_scarce(const scheduler& s, uint32_t count) noexcept {
    return threads_shared(s) > s.ps.in_use() && (s.threads_max < few_threads || 2 * count > s.threads_max);
}

// As many as Ms may be without a P; but one at least, for those who wait when it is found that nobody need wait any more.
std::ptrdiff_t call_places_for(const scheduler& s, uint32_t procs) noexcept {
    const uint32_t most = threads_shared(s);
    return most > procs ? std::ptrdiff_t{most} - procs : 1;
}

}  // namespace

void follow_procs(scheduler& s, uint32_t before, uint32_t n) noexcept {
    s.call_places->change(call_places_for(s, n) - call_places_for(s, before));
    s.threads_lock.lock();
    s.threads_scarce.store(are_scarce(s, s.thread_count.load(relaxed)), relaxed);  // relaxed: a hint; locked
    s.threads_lock.unlock();
}

M* make_m(scheduler& s) noexcept {
    auto* m = new (std::nothrow) M;
    if (m == nullptr) return nullptr;
    m->sightings =
        static_cast<M::sighting*>(std::calloc(procs_max, sizeof(M::sighting)));  // NOLINT: most is never touched
    if (m->sightings == nullptr) {
        delete m;
        return nullptr;
    }
    m->home = &s;
    return m;
}

namespace {

void free_m(M* m) noexcept {
    std::free(m->sightings);  // NOLINT: from calloc
    delete m;
}

}  // namespace

void adopt_thread(M* m) noexcept {
    const void* low = nullptr;
    std::size_t size = 0;
    os::thread_stack_bounds(low, size);
    m->g0_fiber.adopt_thread(low, size);
    m->eh = thread_eh_state();
    m->thread_id.store(os::current_tid(), relaxed);  // relaxed: who looks meanwhile finds none
    m->preempt_word = preempt_word();
    m->alternate_stack = os::install_alternate_stack();
    m->in_runtime.store(1, relaxed);  // relaxed: not on a P yet. g0 is all runtime
    os::precise_timeouts();
    os::want_short_slices(m->tid(), true);
    os::take_questions();
    watch_for_exit();
    set_current_m(m);
}

void abandon_thread(M* m) noexcept {
    set_current_m(nullptr);
    os::remove_alternate_stack(m->alternate_stack);
}

namespace {

// Whether m's thread has ended, or is about to, and is to be joined.
bool is_joinable(const M* m) noexcept { return m->parting.load(acquire) == M::parted::thread; }  // pairs with part

// m is joinable, and nobody else looks whether it is.
void join(M* m) noexcept {
    os::join_thread(m->thread);
    m->parting.store(M::parted::joined, relaxed);  // relaxed: nobody else
}

// Nobody will wait for the threads of s that have not ended. May be called again. Always false.
bool leave_threads(scheduler& s) noexcept {
    s.threads_lock.lock();
    for (M* m = s.all_ms; m != nullptr; m = m->all_next) {
        if (m->is_main || m->part(M::parted::runtime)) continue;
        if (is_joinable(m)) join(m);  // it needs no lock any more
    }
    s.threads_lock.unlock();
    return false;
}

// main has returned on this thread. M0 has to leave weft::main now; if it cannot, because its G does not come back, the
// process ends from here: with main's exit code, or as for any exception that leaves main.
void await_main_thread(scheduler& s) noexcept {
    const int64_t deadline_ns = os::monotonic_ns() + main_thread_grace_ns;
    while (s.main_thread_back.load(acquire) == main_thread::away) {  // pairs with run_main
        if (os::futex_wait(s.main_thread_back, main_thread::away, deadline_ns)) continue;
        uint32_t away = main_thread::away;
        // acq_rel: one of the two threads goes on
        if (!s.main_thread_back.compare_exchange_strong(away, main_thread::too_late, acq_rel)) return;
        abandoned::add(abandoned::waits);
        leave_threads(s);
        if (s.main_error != nullptr && *s.main_error) std::rethrow_exception(*s.main_error);  // noexcept: terminates
        std::exit(s.main_code == nullptr ? 0 : *s.main_code);                                 // NOLINT
    }
}

void reap(scheduler& s) noexcept;

void* m_thread(void* argument) {
    M* m = static_cast<M*>(argument);
    scheduler& s = *m->home;
    m->thread = os::this_thread_id();
    char name[16];
    std::snprintf(name, sizeof(name), "%.9s-%u", s.name.c_str(), m->index);
    os::name_thread(name);
    adopt_thread(m);
    if (P* p = std::exchange(m->next_p, nullptr)) {
        acquire_p(m, p);
        m->picked = std::exchange(m->next_g, nullptr);
        m->spinning = m->picked == nullptr;
    } else {
        sleep_without_p(s, m);
    }
    schedule_loop(m);
    if (s.main_ended_by.load(relaxed) == m)  // relaxed: only our own matters
        await_main_thread(s);
    abandon_thread(m);
    if (m->retired) {
        reap(s);                          // those that did so before
        s.retired.fetch_add(1, relaxed);  // relaxed: a hint
    }
    if (!m->part(M::parted::thread)) os::detach_this_thread();
    m->has_ended.store(true, release);  // pairs with threads_running, reap
    s.ended.fetch_add(1, release);      // pairs with stop_scheduler
    os::futex_wake_one(s.ended);
    return nullptr;
}

}  // namespace

bool enlist(scheduler& s, M* m) noexcept {
    const M* caller = current_m();
    const uint32_t leaves = caller != nullptr && caller->retired ? 1 : 0;  // its place is free as soon as it has ended
    s.threads_lock.lock();
    const uint32_t count = s.thread_count.load(relaxed);  // relaxed: locked, as below
    const bool fits = count < s.threads_max + leaves;
    if (fits) {
        m->index = s.ms_made++;
        s.thread_count.store(count + 1, relaxed);                   // relaxed: locked
        s.threads_scarce.store(are_scarce(s, count + 1), relaxed);  // relaxed: a hint
        m->random =
            prng(chance_seed() + m->index);  // the same in every run: nothing in the scheduler is random but by seed
        m->all_next = s.all_ms;
        s.all_ms = m;
    }
    s.threads_lock.unlock();
    return fits;
}

namespace {

void delist_locked(scheduler& s, M* m) noexcept {
    M** link = &s.all_ms;
    while (*link != m) link = &(*link)->all_next;
    *link = m->all_next;
    s.thread_count.store(s.thread_count.load(relaxed) - 1, relaxed);               // relaxed: locked
    s.threads_scarce.store(are_scarce(s, s.thread_count.load(relaxed)), relaxed);  // relaxed: as above
}

void delist(scheduler& s, M* m) noexcept {
    s.threads_lock.lock();
    delist_locked(s, m);
    s.threads_lock.unlock();
}

// A retired M whose thread has ended, or is about to, and is to be joined; it is off every list. nullptr if there is none.
M* take_retired(scheduler& s) noexcept {
    s.idle.lock.lock();
    s.threads_lock.lock();
    M* m = s.all_ms;
    // acquire: pairs with m_thread
    while (m != nullptr && !(m->has_ended.load(acquire) && m->retired && is_joinable(m))) m = m->all_next;
    if (m != nullptr) {
        delist_locked(s, m);
        --s.idle.unavailable;
        s.retired.fetch_sub(1, relaxed);  // relaxed: a hint
    }
    s.threads_lock.unlock();
    s.idle.lock.unlock();
    return m;
}

void reap(scheduler& s) noexcept {
    if (s.retired.load(relaxed) == 0) return;  // relaxed: a hint
    while (M* m = take_retired(s)) {
        join(m);
        s.sysmon.await_look();
        free_m(m);
    }
}

bool threads_running(scheduler& s) noexcept {
    s.threads_lock.lock();
    const M* m = s.all_ms;
    while (m != nullptr && (m->is_main || m->has_ended.load(acquire))) m = m->all_next;  // pairs with m_thread
    s.threads_lock.unlock();
    return m != nullptr;
}

// Whether w is on a queue. Without the queue's lock it may be taken off a moment later, but not be put on one: its G does not run.
bool is_linked(const waiter& w) noexcept { return w.queue.peek() != nullptr; }

// Takes w off its queue. False: somebody else had done so.
bool unlink(waiter& w) noexcept {
    if (!is_linked(w)) return false;
    const uint32_t bits = w.lock->lock_bits();
    const bool linked = is_linked(w);
    if (linked) w.queue->remove(w);
    w.lock->unlock_bits(bits);
    return linked;
}

// g has been claimed by a thread from outside, which touches its frame until it makes it runnable.
void await_waker(const G& g) noexcept {
    for (uint32_t i = 0; g.state.load(acquire) == g_state::waiting; ++i) spin_backoff(i);  // pairs with set_state
}

// g waits in several queues, or for a deadline or cancellation as well. first is the first of its waiters. True: it was served.
bool unlink_claimed(G& g, waiter& first) noexcept {
    bool must_ready = false;
    const bool too_late = !first.claim->try_claim(claimed_by::nobody_left, must_ready);
    if (too_late) await_waker(g);
    for (waiter* w = &first; w != nullptr; w = w->also) unlink(*w);
    const bool in_context = (g.traits & trait::ambient) != 0 && is_context(g.ambient);
    if (in_context) g.ambient->leave_wait();
    return too_late && first.claim->winner() < claimed_by::deadline;
}

// What an object that is no lock has given to w, whose G will never run again and was linked or not.
void give_back(wait_reason reason, waiter& w, bool linked) noexcept {
    if (reason == wait_reason::condition_wait) condition_wait_abandoned(w, linked);
    if (reason == wait_reason::semaphore_acquire && !linked) semaphore_wait_abandoned(w);
}

// Objects that outlive the scheduler must not find its Gs in their queues. g may be linked, or not any more, or between the two: claimed
// by a thread from outside, which is about to hand over and make it runnable. Only an object that g is still linked to is touched:
// another one may be gone, with g not having run since.
void unlink_waiter(G& g) noexcept {
    const g_state state = g.state.load(acquire);  // pairs with set_state; all Ms have ended
    if (state == g_state::dead) return;
    // A G that was made runnable but has not run since may still be linked: its time was up.
    waiter* w = g.waiting;
    if (w == nullptr || w->lock == nullptr) return;
    // First: a mutex may go as soon as g is off its queue.
    if ((g.traits & trait::recorded) != 0) waits_for_nothing(g);
    bool served = false;
    if (w->claim == &cancelled_by_stop) return;  // off its queue, and has not run since
    if (w->claim != nullptr) {
        served = unlink_claimed(g, *w);
    } else if (!unlink(*w)) {
        await_waker(g);
        served = true;
    }
    if (waits_for_lock(g.reason)) {
        auto& locks = static_cast<lock_waiter&>(*w);
        locks.pass_on(locks, served);
    } else {
        give_back(g.reason, *w, !served);
    }
}

// False: the deadline has passed.
bool await_outsiders(const scheduler& s, int64_t deadline_ns) noexcept {
    for (uint32_t i = 0; s.outsiders.load(acquire) != 0; ++i) {  // pairs with unpin
        if (deadline_ns != never && os::monotonic_ns() >= deadline_ns) return false;
        spin_backoff(i);
    }
    return true;
}

// Closures that never ran are destroyed; what lies on stacks is not, but contexts may still be found there: by a future that is
// cancelled, a stop_token, a scope of somebody who lives on. First all are unlinked: a closure may own what another G waits for.
std::size_t abandon_gs(scheduler& s) noexcept {
    for (uint32_t i = 0; i < s.ps.reach(); ++i) end_timers(s.ps[i].timers);
    s.gs.for_each(&unlink_waiter);
    const bool alone = await_outsiders(s, never);  // wakers that were on their way: they do not wait for anything
    WEFT_ASSERT(alone);
    std::size_t count = 0;
    s.gs.for_each([&](const G& g) { count += g.state.load(relaxed) == g_state::dead ? 0U : 1U; });  // relaxed: as below
    if (count != 0) abandoned::add(abandoned::locks);  // before closures go, which may own what is locked
    s.gs.for_each([&](G& g) {
        if (g.state.load(relaxed) == g_state::dead) return;  // relaxed: nobody else is left
        if ((g.traits & trait::contexts) != 0) {
            for (const struct stack* on = g.stack; on != nullptr; on = on->continued()) s.stacks.keep(*on);
        }
        if (g.never_ran()) g.entry->destroy(g.closure());
        if ((g.traits & trait::locals) != 0) (g.never_ran() ? discard_locals : forget_locals)(g.locals);
        drop_labels(g);
        if ((g.traits & trait::recorded) != 0) drop_record(g);
        if (!g.closure_is_inline()) free_closure(*g.entry, g.closure());
    });
    return count;
}

}  // namespace

std::size_t unlink_abandoned(scheduler& s) noexcept {
    std::size_t count = 0;
    abandoned::add(abandoned::locks | abandoned::waits);
    s.gs.for_each([&](G& g) {
        const g_state state = g.state.load(acquire);  // pairs with set_state
        if (state == g_state::waiting || state == g_state::runnable) unlink_waiter(g);
        count += state == g_state::dead ? 0U : 1U;
    });
    return count;
}

scheduler::scheduler(const runtime_options& o, uint32_t p_count, const stack_pool::options& stack_options)
    : name(o.name),
      made_in(fork_generation.load(relaxed)),  // relaxed: changes only while there is one thread
      ps(p_count),
      stacks(stack_options) {
    if (!os::has_heavy_fence()) {
        g_flags = special::no_fence;
        owner_flags = attention::fence;
    }
    for (uint32_t i = 0; i < p_count; ++i) {
        ps[i].state.store(p_state::idle, relaxed);  // relaxed: nobody else yet
        idle.idle_ps[i / 64] |= uint64_t{1} << (i % 64);
    }
    idle.idle_p_count.store(p_count, relaxed);  // relaxed: nobody else yet
    idle.wanted.store(1, relaxed);              // relaxed: as above
}

scheduler::~scheduler() {
    for (M* m = all_ms; m != nullptr;) {
        M* next = m->all_next;
        free_m(m);
        m = next;
    }
}

namespace {

// The policy that RUN_STACK_POLICY names; paged if none, with a line if it is junk.
stack_policy policy_of_environment() noexcept {
    const char* const names[] = {"paged", "fixed", "growing"};
    return static_cast<stack_policy>(static_cast<unsigned>(stack_policy::paged) +
                                     os::env_word("RUN_STACK_POLICY", names, 0));
}

// Throws.
stack_pool::options stack_options(const runtime_options& options, uint32_t procs, const debug_options& debug) {
    stack_pool::options o{};
    o.policy = options.stacks == stack_policy::automatic ? policy_of_environment() : options.stacks;
    o.default_size = options.stack_size;
    if (o.default_size == 0) {
        const std::size_t usual = o.policy == stack_policy::fixed ? fixed_stack_size : default_stack_size;
        o.default_size = os::env_number("RUN_STACK_MAX", smallest_stack, largest_default_stack, usual);
    }
    if (o.default_size < smallest_stack || o.default_size > largest_default_stack) {
        throw std::invalid_argument("weft: runtime_options::stack_size must be from 16 KiB to 64 MiB");
    }
    o.cache_reserve = procs * stacks_kept_by_p + trimmed_at_once;
    o.always_guard = options.guard == guard_policy::always;
    o.measured = debug.stack_use;
    return o;
}

// The signal that RUN_PREEMPT_SIGNAL names; the usual one if none, with a line if it is one that cannot be used. 0: nothing.
int signal_of_environment() noexcept {
    constexpr int usual = os::default_interrupt_signal;
    const int signal = static_cast<int>(os::env_number("RUN_PREEMPT_SIGNAL", 0, os::largest_signal, usual));
    if (signal == 0 || os::may_interrupt(signal)) return signal;
    warn("RUN_PREEMPT_SIGNAL=%d is a signal that cannot be used for that; using %d", signal, usual);
    return usual;
}

// What interrupts marked code; 0: nothing. Throws.
int choose_signal(const runtime_options& options) {
    const int chosen = options.preempt_signal;
    if (chosen != 0 && chosen != runtime_options::no_signal && !os::may_interrupt(chosen)) {
        throw std::invalid_argument("weft: runtime_options::preempt_signal is " + std::to_string(chosen) +
                                    ", which cannot be used for that");
    }
    if (!os::can_interrupt || chosen == runtime_options::no_signal) return 0;
    return chosen == 0 ? signal_of_environment() : chosen;
}

// How long a G may run while others wait. Throws.
int64_t choose_slice(const runtime_options& options) {
    const int64_t ns = std::chrono::nanoseconds(options.slice).count();
    if (ns == 0) return os::env_time_ns("RUN_SLICE", shortest_slice_ns, longest_slice_ns, default_slice_ns);
    if (ns >= shortest_slice_ns && ns <= longest_slice_ns) return ns;
    throw std::invalid_argument("weft: runtime_options::slice must be from 10 us to 10 s");
}

// How long a G may run, or wait for a P, before stderr says so; 0: as RUN_DEBUG says. What anybody may ask for need not fit into ns.
int64_t choose_watchdog(const runtime_options& options) noexcept {
    using std::chrono::milliseconds;
    return std::chrono::nanoseconds(std::clamp(options.watchdog, milliseconds::zero(), longest_watchdog)).count();
}

}  // namespace

uint32_t usual_procs() noexcept {
    const uint32_t cpus = std::min(os::usable_cpus(), procs_max);
    return static_cast<uint32_t>(os::env_number("RUN_MAXPROCS", 1, procs_max, cpus));
}

bool usual_procs_follow() noexcept { return !os::env_is_set("RUN_MAXPROCS"); }

scheduler* make_scheduler(const runtime_options& options) {
    const uint32_t procs = options.procs != 0 ? options.procs : usual_procs();
    if (procs > procs_max) throw std::invalid_argument("weft: runtime_options::procs is more than 1024");
    const int interrupt_signal = choose_signal(options);
    const int64_t slice_ns = choose_slice(options);
    install_fatal_report();
    install_fork_handler();
    // Objects with static storage made before now are destroyed after that.
    static const int at_exit = std::atexit([] { abandoned::add(abandoned::waits | abandoned::exit); });
    static_cast<void>(at_exit);  // no memory to register it: then a check is too strict at exit
    const debug_options debug = read_debug_options();
    if (debug.random_seed) shuffle_everything(*debug.random_seed);
    auto s = std::make_unique<scheduler>(options, procs, stack_options(options, procs, debug));
    s->interrupt_signal = interrupt_signal;
    if (debug.random_seed) s->g_flags |= special::shuffled;
    s->slice_ns = slice_ns;
    s->retakes = debug.retake && options.retake;
    s->retakes_always = s->retakes && debug.retake_always;
    // relaxed: nobody else yet
    s->follows_cpus.store(options.procs == 0 && usual_procs_follow(), relaxed);
    s->deadlocks = debug.deadlock;
    if (debug.lock_owners) classes_used.store(true, relaxed);  // relaxed: see classes_in_use
    s->watch.start(*s, debug, choose_watchdog(options));
    s->threads_max = static_cast<uint32_t>(os::env_number("RUN_MAX_THREADS", 1, 1 << 20, default_threads_max));
    s->thread_idle_ns = os::env_time_ns("RUN_THREAD_IDLE", 1 * ms, 3'600 * sec, default_thread_idle_ns);
    s->call_places = std::make_unique<call_places>(call_places_for(*s, procs));
    s->threads_scarce.store(are_scarce(*s, 0), relaxed);  // relaxed: nobody else yet
    if (const int error = s->stacks.reserve(0)) {
        throw resource_exhausted(std::error_code(error, std::generic_category()), "weft: no address space for stacks");
    }
    if (const int error = s->sysmon.start(*s)) {
        throw resource_exhausted(std::error_code(error, std::generic_category()),
                                 "weft: the monitor thread of a runtime could not be started");
    }
    register_scheduler(s.get());
    return s.release();
}

namespace {

void count_coming(scheduler& s, M* m, int change) noexcept {
    s.idle.lock.lock();
    m->coming = change > 0;
    s.idle.coming += static_cast<uint32_t>(change);
    s.idle.lock.unlock();
}

}  // namespace

int start_m(scheduler& s, P* p, G* g) noexcept {
    reap(s);
    M* m = make_m(s);
    if (m == nullptr) return ENOMEM;
    if (!enlist(s, m)) {
        free_m(m);
        return EAGAIN;
    }
    m->next_p = p;
    m->next_g = g;
    if (p == nullptr) count_coming(s, m, 1);
    const M* caller = current_m();
    const bool from_pinned = caller != nullptr && caller->pins != 0;
    os::thread_id made = 0;  // which it knows itself, and may have ended before we do
    const int error = from_pinned ? caller->home->maker.make(made, &m_thread, m) : os::start_thread(made, &m_thread, m);
    if (error != 0) {
        if (p == nullptr) count_coming(s, m, -1);
        delist(s, m);
        free_m(m);
    }
    return error;
}

void start_first_m(scheduler& s) {
    s.idle.lock.lock();
    P* p = take_idle_p_locked(s, 0);
    s.idle.spinning.store(1, relaxed);  // relaxed: locked; on behalf of the new M
    s.idle.wanted.store(0, relaxed);    // relaxed: locked; the new M is responsible
    s.idle.lock.unlock();
    if (const int error = start_m(s, p, nullptr)) {
        throw resource_exhausted(std::error_code(error, std::generic_category()),
                                 "weft: the first thread of a runtime could not be started");
    }
}

void request_stop(scheduler& s) noexcept {
    wake_all_to_stop(s);
    for (uint32_t i = 0; i < s.ps.reach(); ++i) {
        request_preempt(s, s.ps[i]);
    }
}

bool stop_scheduler(scheduler& s, int64_t deadline_ns, std::size_t& abandoned) noexcept {
    request_stop(s);
    if (!s.sysmon.stop(deadline_ns)) return leave_threads(s);  // first: it makes Ms
    // First, because an outsider that did not see the request may still be starting an M. Those that come later start none.
    if (!await_outsiders(s, deadline_ns)) return leave_threads(s);
    for (;;) {
        const uint32_t ended = s.ended.load(acquire);  // pairs with m_thread
        // Looked at anew each time: an M that has not ended yet may just be starting another one.
        if (!threads_running(s)) break;
        if (!os::futex_wait(s.ended, ended, deadline_ns)) return leave_threads(s);
    }
    for (M* m = s.all_ms; m != nullptr; m = m->all_next) {
        if (is_joinable(m)) join(m);
    }
    s.maker.end();
    if (!await_outsiders(s, deadline_ns)) return false;
    abandoned = abandon_gs(s);
    return true;
}

}  // namespace weft::detail
