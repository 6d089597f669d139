// start.cc: see start.h.
#include "lifecycle/start.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include <weft/detail/cancel.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "base/generation.h"
#include "context/preempt_word.h"
#include "handoff/preempt.h"
#include "lifecycle/abandon.h"
#include "lifecycle/config.h"
#include "lifecycle/crash.h"
#include "lifecycle/debug_options.h"
#include "lifecycle/fork.h"
#include "lifecycle/process_exit.h"
#include "lifecycle/report.h"
#include "lifecycle/stopping.h"
#include "os/cpu_affinity.h"
#include "os/os.h"
#include "os/program_sanitizer.h"
#include "os/signals.h"
#include "os/thread_locals.h"
#include "per_g/inheritance.h"
#include "sched/current.h"
#include "sched/random.h"
#include "sched/schedule.h"
#include "sched/switch.h"
#include "sched/switch_hooks.h"

namespace weft::detail {

namespace {

constexpr uint32_t few_threads = 256;  // a limit below which threads are always scarce
constexpr int64_t stop_look_ns = 10'000'000;
constexpr int64_t main_thread_grace_ns = 100'000'000;

bool always_scarce(const scheduler& s, uint32_t procs) noexcept {
    return s.threads_max < few_threads || s.threads_max / 2 <= procs;
}

// True if a blocking call may find no thread for its P. False with a single thread, because a wait
// would help no other G.
bool are_scarce(const scheduler& s, uint32_t count) noexcept {
    return s.threads_max > 1 && (always_scarce(s, s.ps.in_use()) || 2 * count > s.threads_max);
}

// As many as Ms may be without a P. The other half of the limit is for calls that began before
// threads were scarce. With a single thread 1, for Gs that wait when the number of Ps changes.
std::ptrdiff_t call_permits_for(const scheduler& s, uint32_t procs) noexcept {
    const uint32_t shared = always_scarce(s, procs) ? s.threads_max : s.threads_max / 2;
    return s.threads_max > 1 ? std::ptrdiff_t{shared} - procs : 1;
}

}  // namespace

void follow_procs(scheduler& s, uint32_t before, uint32_t n) noexcept {
    s.call_permits->change(call_permits_for(s, n) - call_permits_for(s, before));
    s.threads_lock.lock();
    s.threads_scarce.store(are_scarce(s, s.thread_count.load(relaxed)), relaxed);  // relaxed: a hint; locked
    s.threads_lock.unlock();
}

namespace {

void free_m(M* m) noexcept {
    os::remove_alternate_stack(m->alternate_stack);  // if its thread was not started
    std::free(m->sightings);                         // NOLINT: from calloc
    delete m;
}

}  // namespace

M* make_m(scheduler& s) noexcept {
    auto* m = new (std::nothrow) M;
    if (m == nullptr) return nullptr;
    is_internal(m, sizeof(*m));
    m->sightings =
        static_cast<M::sighting*>(std::calloc(procs_max, sizeof(M::sighting)));  // NOLINT: most is never touched
    m->alternate_stack = os::map_alternate_stack();
    const bool can_do_without = s.stacks.policy() != stack_policy::growing;
    if (m->sightings == nullptr || (m->alternate_stack == nullptr && !can_do_without)) {
        free_m(m);
        return nullptr;
    }
    m->home = &s;
    return m;
}

namespace {

// Sets what other threads read of m's thread.
void set_words(M* m, atomic<uintptr_t>* preempt_word, const uint32_t* cpu_word) noexcept {
    m->home->threads_lock.lock();
    m->preempt_word = preempt_word;
    m->cpu_word = cpu_word;
    m->home->threads_lock.unlock();
}

}  // namespace

namespace {

// Tells TSan that the green threads on this OS thread use its thread-locals one after the other,
// and, for blocking calls, its stack from low to here.
[[gnu::noinline]] void share_with_gs([[maybe_unused]] const void* low) noexcept {
    if (!sanitized) return;
    const auto* here = static_cast<const std::byte*>(__builtin_frame_address(0));
    is_internal(low, static_cast<std::size_t>(here - static_cast<const std::byte*>(low)));
    os::visit_thread_locals([](const void* begin, std::size_t bytes) noexcept { is_internal(begin, bytes); });
    // These two may be in the thread's own record.
    if (const uint32_t* cpu = os::this_cpu_word()) is_internal(cpu, sizeof(*cpu));
    is_internal(preempt_word(), sizeof(*preempt_word()));
}

}  // namespace

void adopt_thread(M* m) noexcept {
    const void* low = nullptr;
    std::size_t size = 0;
    os::thread_stack_bounds(low, size);
    m->g0_fiber.adopt_thread(low, size);
    m->eh = thread_eh_state();
    m->thread_id.store(os::current_tid(), relaxed);  // relaxed: a concurrent reader finds none
    os::install_alternate_stack(m->alternate_stack);
    share_with_gs(low);
    set_words(m, preempt_word(), os::this_cpu_word());
    m->in_runtime.store(1, relaxed);  // relaxed: not on a P yet. g0 is all runtime
    m->slack_before_ns = os::timeout_slack_ns();
    os::set_timeout_slack_ns(os::precise_timeouts);
    m->short_slices_before = os::wants_short_slices(m->tid());
    os::want_short_slices(m->tid(), true);
    os::take_questions(!m->is_main);
    watch_for_exit();
    set_current_m(m);
    begin_recording_of(m);
}

void abandon_thread(M* m) noexcept {
    set_current_m(nullptr);
    set_words(m, nullptr, nullptr);
    end_recording_of(m);
    os::remove_alternate_stack(std::exchange(m->alternate_stack, nullptr));
    os::set_timeout_slack_ns(m->slack_before_ns);
    if (!m->short_slices_before) os::want_short_slices(m->tid(), false);
}

namespace {

// True if m's thread has ended, or soon will, and must be joined.
bool is_joinable(const M* m) noexcept { return m->parting.load(acquire) == M::parted::thread; }  // pairs with part

// Requires: m is joinable, and no other thread joins it.
void join(M* m) noexcept {
    WEFT_ASSERT(!m->is_main);
    os::join_thread(m->thread);
    m->parting.store(M::parted::joined, relaxed_alone);
}

// Gives up on threads of s that have not ended, and closes polling to them. May be called again.
bool leave_threads(scheduler& s) noexcept {
    s.threads_lock.lock();
    for (M* m = s.all_ms; m != nullptr; m = m->all_next) {
        if (m->is_main || m->part(M::parted::runtime)) continue;
        if (is_joinable(m)) join(m);  // the thread needs no lock from here on
    }
    s.threads_lock.unlock();
    s.io.abandon();
    return false;
}

// main has returned on this thread. If a G keeps M0, the process ends here, with main's exit code
// or exception.
void await_main_thread(scheduler& s) noexcept {
    const int64_t deadline_ns = os::monotonic_ns() + main_thread_grace_ns;
    while (s.main_thread_back.load(acquire) == main_thread::away) {  // pairs with run_main
        if (os::futex_wait(s.main_thread_back, main_thread::away, deadline_ns)) continue;
        uint32_t away = main_thread::away;
        // acq_rel: one of the two threads continues
        if (!s.main_thread_back.compare_exchange_strong(away, main_thread::too_late, acq_rel)) return;
        abandoned::add(abandoned::waits);
        leave_threads(s);
        if (s.main_error != nullptr && *s.main_error) std::rethrow_exception(*s.main_error);  // noexcept: terminates
        std::exit(s.main_code == nullptr ? 0 : *s.main_code);                                 // NOLINT
    }
}

void reap(scheduler& s) noexcept;

void* m_thread(void* argument) {
    const internals all;
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
    if (s.main_ended_by.load(relaxed) == m)  // relaxed: only our value matters
        await_main_thread(s);
    abandon_thread(m);
    if (m->retired.load(relaxed_own)) {
        reap(s);  // those that retired earlier
        s.retired.fetch_add(1, relaxed_hint);
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
    const uint32_t leaves =
        caller != nullptr && caller->retired.load(relaxed) ? 1 : 0;  // its place is free once it has ended
    s.threads_lock.lock();
    const uint32_t count = s.thread_count.load(relaxed_locked);
    const bool fits = count < s.threads_max + leaves;
    if (fits) {
        m->index = s.ms_made++;
        s.thread_count.store(count + 1, relaxed_locked);
        s.threads_scarce.store(are_scarce(s, count + 1), relaxed_hint);
        m->random = prng(random_seed() + m->index);  // equal in every run: only seeds give randomness
        m->all_next = s.all_ms;
        s.all_ms = m;
    }
    s.threads_lock.unlock();
    return fits;
}

namespace {

void delist_locked(scheduler& s, M* m) noexcept {
    M** link = &s.all_ms;
    while (*link != m) {
        WEFT_ASSERT(*link != nullptr);
        link = &(*link)->all_next;
    }
    *link = m->all_next;
    WEFT_ASSERT(s.thread_count.load(relaxed_locked) != 0);
    s.thread_count.store(s.thread_count.load(relaxed_locked) - 1, relaxed_locked);
    s.threads_scarce.store(are_scarce(s, s.thread_count.load(relaxed_locked)), relaxed_locked);
}

void delist(scheduler& s, M* m) noexcept {
    s.threads_lock.lock();
    delist_locked(s, m);
    s.threads_lock.unlock();
}

// Takes a retired M, whose thread must be joined, off all lists; nullptr: none.
M* take_retired(scheduler& s) noexcept {
    const idle_guard held(s.idle);
    s.threads_lock.lock();
    M* m = s.all_ms;
    // acquire: pairs with m_thread
    while (m != nullptr && !(m->has_ended.load(acquire) && m->retired.load(relaxed) && is_joinable(m))) m = m->all_next;
    if (m != nullptr) {
        delist_locked(s, m);
        WEFT_ASSERT(s.idle.absent.unavailable != 0);
        --s.idle.absent.unavailable;
        s.retired.fetch_sub(1, relaxed_hint);
    }
    s.threads_lock.unlock();
    return m;
}

void reap(scheduler& s) noexcept {
    if (s.retired.load(relaxed_hint) == 0) return;
    while (M* m = take_retired(s)) {
        join(m);
        s.sysmon.await_check();
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

}  // namespace

scheduler::scheduler(const runtime_options& o, uint32_t p_count, const stack_pool::options& stack_options)
    : name(o.name),
      made_in(fork_generation.load(relaxed_alone)),
      ps(p_count),
      stacks(stack_options),
      gs(stack_options.trims) {
    if (!os::has_heavy_fence()) {
        g_flags.store(special::no_fence, relaxed_alone);
        owner_flags = attention::fence;
    }
    for (uint32_t i = 0; i < p_count; ++i) {
        ps[i].state.store(p_state::idle, relaxed_alone);
        idle.ps.put(i);
    }
    const idle_guard publishes(idle);
}

scheduler::~scheduler() {
    leave_recording(*record);  // from here on, it does not look at Ms
    for (M* m = all_ms; m != nullptr;) {
        M* next = m->all_next;
        free_m(m);
        m = next;
    }
}

namespace {

// True if an M is about to end. Once false in exit(), none will.
bool any_ends(scheduler& s) noexcept {
    const auto ends = [](const M* m) {
        // relaxed: a hint; acquire: pairs with m_thread
        return m->retired.load(relaxed) && !m->is_main && !m->has_ended.load(acquire);
    };
    const idle_guard held(s.idle);
    s.threads_lock.lock();
    const M* m = s.all_ms;
    while (m != nullptr && !ends(m)) m = m->all_next;
    s.threads_lock.unlock();
    return m != nullptr;
}

// In exit(). Only this joins retired threads of the default runtime, which never stops.
void reap_default() noexcept {
    constexpr int naps = 100;
    constexpr int64_t nap_ns = 1'000'000;
    scheduler* s = pin_default_scheduler_if_any();
    if (s == nullptr) return;
    for (int i = 0; i < naps && any_ends(*s); ++i) os::sleep_ns(nap_ns);
    reap(*s);
    s->unpin();
}

}  // namespace

namespace {

// Reports of a sanitizer that is not told of switches would be wrong, so the program does not
// begin.
void check_program_sanitizer() noexcept {
    const os::program_sanitizer found = os::find_program_sanitizer();
    if (found.name == nullptr) return;
    if (found.flag == nullptr) {
        fatal("this program is built with %s, which weft does not support: docs/sanitizers.md", found.name);
    }
    fatal(
        "this program is built with %s, but the weft library is not, so reports would be wrong; build weft with "
        "-DWEFT_SANITIZE=%s, or set RUN_DEBUG=sanitizer=0 to run anyway: docs/sanitizers.md",
        found.name, found.flag);
}

}  // namespace

static void check_procs_option(uint32_t wanted) {
    if (wanted > procs_max)
        throw std::invalid_argument("weft: runtime_options::procs is " + std::to_string(wanted) +
                                    "; the maximum is 1024");
}

void check_runtime_options(const runtime_options& options) {
    check_procs_option(options.procs);
    static_cast<void>(choose_signal(options));
    static_cast<void>(choose_slice(options));
    static_cast<void>(choose_memory_idle(options));
    static_cast<void>(choose_timer_slack(options));
}

scheduler* make_scheduler(const runtime_options& options) {
    const uint32_t procs_wanted = options.procs != 0 ? options.procs : usual_procs();
    check_procs_option(procs_wanted);
    const int interrupt_signal = choose_signal(options);
    const int64_t slice_ns = choose_slice(options);
    const int64_t memory_idle_ns = choose_memory_idle(options);
    const int64_t timer_slack_ns = choose_timer_slack(options);
    install_fatal_report();
    install_fork_handler();
    // Static objects made before this point are destroyed after the handler runs.
    static const int at_exit = std::atexit([] {
        abandoned::add(abandoned::waits | abandoned::exit);
        reap_default();
    });
    static_cast<void>(at_exit);  // without memory for it, a check is too strict at exit
    const uint32_t threads_max = choose_threads_max();
    warn_of_few_threads(threads_max, procs_wanted);
    const uint32_t procs = procs_within(threads_max, procs_wanted);
    const debug_options debug = read_debug_options();
    if (debug.check_sanitizer) check_program_sanitizer();
    if (debug.random_seed) shuffle_everything(*debug.random_seed);
    auto s = std::make_unique<scheduler>(options, procs, choose_stacks(options, procs, debug, memory_idle_ns));
    s->interrupt_signal = interrupt_signal;
    if (debug.random_seed) s->g_flags.fetch_or(special::shuffled, relaxed_alone);
    is_internal(s.get(), sizeof(*s));
    if (debug.tsan_green_threads) check_green_threads_in_tsan();
    s->slice_ns = slice_ns;
    s->cpus.store(os::usable_cpus(), relaxed_alone);
    s->retakes = debug.retake && options.retake;
    s->moves_threads = debug.placement;
    s->retakes_always = s->retakes && debug.retake_always;
    s->follows_cpus.store(options.procs == 0 && usual_procs_follow(), relaxed_alone);
    s->deadlocks = debug.deadlock;
    if (!debug.symbols) symbolizer::disable();
    if (debug.all_frames) report::show_all_frames();
    if (debug.lock_owners) classes_used.store(true, relaxed);  // relaxed: see classes_in_use
    s->watch.start(*s, debug, choose_watchdog(options));
    s->threads_max = threads_max;
    s->thread_idle_ns = choose_thread_idle();
    s->memory_idle_ns = memory_idle_ns;
    s->timer_slack_ns = timer_slack_ns;
    s->call_permits = std::make_unique<call_permits>(call_permits_for(*s, procs));
    s->threads_scarce.store(are_scarce(*s, 0), relaxed_alone);
    if (const int error = s->stacks.reserve(0)) {
        throw resource_exhausted(
            std::error_code(error, std::generic_category()),
            "weft: no address space for stacks (lower RUN_STACK_MAX, or raise the limit on virtual memory: ulimit -v)");
    }
    if (const int error = s->sysmon.start(*s)) {
        throw resource_exhausted(
            std::error_code(error, std::generic_category()),
            "weft: cannot start the monitor thread of a runtime (end some threads, or raise the limit: ulimit -u)");
    }
    register_scheduler(s.get());
    hook_scheduler(*s);
    return s.release();
}

namespace {

void count_coming(scheduler& s, M* m, int change) noexcept {
    const idle_guard held(s.idle);
    m->coming = change > 0;
    s.idle.absent.coming += static_cast<uint32_t>(change);
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
    os::thread_id made = 0;  // the thread sets its own copy, and may end before we do
    const int error = from_pinned ? caller->home->maker.make(made, &m_thread, m) : os::start_thread(made, &m_thread, m);
    if (error != 0) {
        if (p == nullptr) count_coming(s, m, -1);
        delist(s, m);
        free_m(m);
    }
    return error;
}

void start_first_m(scheduler& s) {
    idle_guard held(s.idle);
    P* p = take_idle_p_locked(s, 0);
    count_spinning_locked(s.idle, 1);  // for the new M
    held.unlock();
    if (const int error = start_m(s, p, nullptr)) {
        throw resource_exhausted(
            std::error_code(error, std::generic_category()),
            "weft: cannot start the first thread of a runtime (end some threads, or raise the limit: ulimit -u)");
    }
}

void request_stop(scheduler& s) noexcept {
    wake_all_to_stop(s);
    for (uint32_t i = 0; i < s.ps.reach(); ++i) {
        request_preempt(s, s.ps[i]);
    }
}

bool stop_scheduler(scheduler& s, int64_t deadline_ns, std::size_t& abandoned) noexcept {
    const int64_t last_ns = deadline_ns == never ? never : deadline_ns + way_back_ns;
    request_stop(s);
    if (!s.sysmon.stop(deadline_ns)) return leave_threads(s);  // first: it makes Ms
    // First: an external thread that missed the request may still start an M.
    if (!wait_for_external_refs(s, last_ns)) return leave_threads(s);
    for (;;) {
        const uint32_t ended = s.ended.load(acquire);  // pairs with m_thread
        // An M that is ending may start another.
        if (!threads_running(s)) break;
        interrupt_all(s);
        const int64_t now_ns = os::monotonic_ns();
        if (now_ns >= deadline_ns && (now_ns >= last_ns || has_stragglers(s))) return leave_threads(s);
        os::futex_wait(s.ended, ended, std::min(now_ns + stop_look_ns, now_ns < deadline_ns ? deadline_ns : never));
    }
    s.threads_lock.assume_held();  // no M is left that could change the list
    for (M* m = s.all_ms; m != nullptr; m = m->all_next) {
        if (is_joinable(m)) join(m);
    }
    s.maker.end();
    if (!wait_for_external_refs(s, last_ns)) return leave_threads(s);
    abandoned = abandon_gs(s);
    s.io.close();  // wakes waiters of other runtimes
    return true;
}

}  // namespace weft::detail
