// runtime.cc: weft::runtime, weft::main and the default runtime.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/detail/locals.h>
#include <weft/runtime.h>
#include <weft/time.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "base/generation.h"
#include "lifecycle/config.h"
#include "lifecycle/crash.h"
#include "lifecycle/fork.h"
#include "lifecycle/process_exit.h"
#include "lifecycle/start.h"
#include "lifecycle/stopping.h"
#include "os/os.h"
#include "sched/current.h"
#include "sched/park.h"
#include "sched/schedule.h"
#include "sched/simulated_runtimes.h"
#include "sched/simulation.h"
#include "sched/spawn.h"
#include "sched/switch.h"

namespace weft {

namespace detail {

namespace {

constexpr int64_t straggler_grace_ns = 100'000'000;
constexpr int64_t drain_look_ns = 100'000;
constexpr int64_t procs_look_ns = 50'000;
constexpr int64_t main_thread_nap_ns = 100'000'000;

constinit spin_lock default_lock;
constinit scheduler* default_one = nullptr;  // guarded by default_lock, also while it is being made
constinit atomic<bool> main_runs{false};

// True if the caller is a G of s, or one in a blocking call.
bool is_called_by(const scheduler* s) noexcept {
    const M* m = current_m();
    return m != nullptr && m->home == s && (m->g != nullptr || m->lent_by != nullptr);
}

void await_procs(scheduler& s) {
    while (s.ps.alive() != s.ps.in_use() && !s.stopping.load(relaxed_hint)) {
        retire_idle_surplus(s);
        pause_until_ns(os::monotonic_ns() + procs_look_ns);
    }
}

void check_procs(unsigned n) {
    if (n > procs_max)
        throw std::invalid_argument("weft: set_max_procs(" + std::to_string(n) + "): the maximum is 1024");
}

unsigned change_max_procs(scheduler& s, unsigned n) {
    const uint32_t before = s.ps.in_use();
    if (s.simulated != nullptr) return before;  // the caller is no green thread of it; S1
    const bool follows = n == 0 && usual_procs_follow();
    const uint32_t wanted = n != 0 ? n : usual_procs();
    warn_of_few_threads(s.threads_max, wanted);
    change_procs(s, procs_within(s.threads_max, wanted), follows ? procs_by::request_to_follow : procs_by::request);
    await_procs(s);
    checkpoint();
    return before;
}

// nullptr: the caller is no green thread of a simulated test.
simulated_runtimes* runtimes_of_caller() noexcept {
    simulation* sim = current_simulation();
    return sim == nullptr ? nullptr : sim->runtimes();
}

// nullptr: also if r was not started in the simulation.
simulated_runtimes* simulating(const runtime& r) noexcept {
    simulated_runtimes* all = runtimes_of_caller();
    return all != nullptr && all->has(r) ? all : nullptr;
}

// Requires: the caller has pinned s.
class pinned_scheduler {
public:
    explicit pinned_scheduler(scheduler& s) noexcept : s_(s) {}

    ~pinned_scheduler() { s_.unpin(); }

    pinned_scheduler(const pinned_scheduler&) = delete;
    pinned_scheduler& operator=(const pinned_scheduler&) = delete;

private:
    scheduler& s_;
};

}  // namespace

void forget_default_runtime() noexcept {
    default_one = nullptr;
    default_lock.reset_after_fork();
    main_runs.store(false, relaxed_alone);
}

bool claim_main() noexcept { return !main_runs.exchange(true, acq_rel); }  // acq_rel: one caller continues

bool main_is_running() noexcept { return main_runs.load(relaxed_hint); }

void release_main() noexcept { main_runs.store(false, release); }  // pairs with the exchange

scheduler* exchange_default(scheduler* s) noexcept {
    default_lock.lock();
    scheduler* before = std::exchange(default_one, s);
    default_lock.unlock();
    return before;
}

void acquire_first_p(scheduler& s, M* m) noexcept {
    idle_guard held(s.idle);
    P* p = take_idle_p_locked(s, 0);
    held.unlock();
    acquire_p(m, p);
}

void destroy(scheduler* s) noexcept {
    s->sysmon.stop();
    unregister_scheduler(s);
    delete s;
}

bool finish_main(scheduler* s) noexcept {
    std::size_t left = 0;
    if (!stop_scheduler(*s, os::monotonic_ns() + straggler_grace_ns, left)) {
        abandoned::add(abandoned::waits);
        return false;
    }
    destroy(s);
    return true;
}

bool finish_stop(scheduler* s, uint64_t finished, stop_outcome& done) noexcept {
    const bool ended = stop_scheduler(*s, os::monotonic_ns() + straggler_grace_ns, done.abandoned);
    done.drained = static_cast<std::size_t>(finished_gs(*s) - finished);
    if (!ended) done.stragglers = leave_stragglers(*s, done.abandoned);
    return ended;
}

namespace {

// For a green thread in a blocking call: its runtime, pinned; else nullptr.
scheduler* pin_lender() noexcept {
    const M* m = current_m();
    if (m == nullptr || m->lent_by == nullptr) return nullptr;
    m->home->pin();
    return m->home;
}

}  // namespace

scheduler* pin_default_scheduler_if_any() noexcept {
    if (scheduler* s = pin_lender()) return s;
    default_lock.lock();
    scheduler* s = default_one;
    if (s != nullptr) s->pin();
    default_lock.unlock();
    return s;
}

scheduler& pin_default_scheduler() {
    if (scheduler* s = pin_lender()) return *s;
    default_lock.lock();
    if (default_one == nullptr) {
        scheduler* s = nullptr;
        try {
            s = make_scheduler(runtime_options{});
            start_first_m(*s);
        } catch (...) {
            default_lock.unlock();
            if (s != nullptr) destroy(s);
            throw;
        }
        default_one = s;
    }
    scheduler& s = *default_one;
    s.pin();
    default_lock.unlock();
    return s;
}

void run_main(const runtime_options& options,
              void (*body)(void*),
              void* closure,
              const int* code,
              const std::exception_ptr* error,
              source_location where) {
    if (simulated_runtimes* sim = runtimes_of_caller()) return sim->run_main(options, body, closure, where);
    if (current_m() != nullptr) fatal("weft::main() was called from a green thread; call the function directly");
    if (!claim_main()) fatal("weft::main() was called while another weft::main() runs; make a weft::runtime instead");
    scheduler* s = nullptr;
    scheduler* before = nullptr;
    M* m = nullptr;
    G* g = nullptr;
    try {
        s = make_scheduler(options);
        m = make_m(*s);
        if (m == nullptr) throw std::bad_alloc();
        m->is_main = true;
        s->is_mains = true;
        const bool fits = enlist(*s, m);
        WEFT_ASSERT(fits);
        auto whole = [body, closure, s, &before] {
            body(closure);
            if (current_m() == nullptr) fatal("%s", returned_in_child);
            end_locals();                                  // while other Gs run
            s->main_ended_by.store(current_m(), relaxed);  // relaxed: read by that M
            exchange_default(before);                      // plain threads, and Ms that end, use it from here on
            request_stop(*s);
        };
        using entry = decltype(whole);
        const spawn_options named{.name = "main"};
        const spawning made = spawn_begin(s, &named, entry_type_of<entry>, where);
        ::new (made.closure) entry(whole);
        g = made.g;
        s->unpin();  // as spawn_commit would
    } catch (...) {
        if (s != nullptr) destroy(s);
        release_main();
        throw;
    }
    s->main_code = code;
    s->main_error = error;
    before = exchange_default(s);

    begin_internals();
    adopt_thread(m);
    acquire_first_p(*s, m);
    g->since_ns = os::monotonic_ns();
    g->set_state(g_state::dead, g_state::runnable);
    s->external_spawns.fetch_add(1, relaxed_count);
    m->p->now_ns = os::monotonic_ns();
    m->picked = g;  // not queued, and so not stolen: main's first pin is to this thread
    schedule_loop(m);
    abandon_thread(m);
    end_internals();
    uint32_t seen = main_thread::away;
    // acq_rel: pairs with await_main_thread
    if (!s->main_thread_back.compare_exchange_strong(seen, main_thread::back, acq_rel)) {
        for (;;) os::sleep_ns(main_thread_nap_ns);  // the other thread ends the process
    }
    os::futex_wake_one(s->main_thread_back);

    tell_acquired(s);                   // exit_g
    static_cast<void>(finish_main(s));  // what is left behind is harmless
    release_main();
}

}  // namespace detail

using detail::acquire;
using detail::relaxed;
using detail::release;

runtime::runtime(runtime_options options) : options_(std::move(options)) { start(); }

runtime::~runtime() {
    if (detail::exit_has_begun() && detail::is_called_by(scheduler_.load(detail::relaxed_own))) return;
    abandon();
}

void runtime::start() {
    if (running()) return;
    detail::scheduler* s = nullptr;
    if (detail::simulated_runtimes* sim = detail::runtimes_of_caller()) {
        detail::check_runtime_options(options_);
        sim->start(*this, scheduler_, options_.procs);
        s = detail::current_m()->home;
    } else {
        s = detail::make_scheduler(options_);
        try {
            detail::start_first_m(*s);
        } catch (...) {
            detail::destroy(s);
            throw;
        }
    }
    if (started_in_ != s->made_in) {
        started_in_ = s->made_in;
        lock_.reset_after_fork();
    }
    lock_.lock();
    open_ = openness::open;
    scheduler_.store(s, release);  // pairs with use
    lock_.unlock();
}

static void refuse_own_caller(bool is_own) {
    if (!is_own) return;
    detail::fatal(
        "weft::runtime::shutdown() or abandon() was called by a green thread of that runtime, which would wait for "
        "itself; call it from a plain thread");
}

// The scheduler that the caller must end; nullptr: none, or another thread ends it.
detail::scheduler* runtime::begin_stop() {
    if (!running()) return nullptr;
    detail::scheduler* s = scheduler_.load(acquire);  // pairs with start
    refuse_own_caller(detail::is_called_by(s));
    lock_.lock();
    const bool first = open_ == openness::open;
    if (first) open_ = openness::draining;
    lock_.unlock();
    return first ? s : nullptr;
}

// Ends pinning. Its own green threads need no pin.
void runtime::close() noexcept {
    lock_.lock();
    open_ = openness::closed;
    lock_.unlock();
}

// The lock excludes new pins; an existing one may be about to start a G.
bool runtime::close_if_drained(const detail::scheduler& s) noexcept {
    lock_.lock();
    const bool drained = s.external_refs.load(acquire) == 0 && detail::live_gs(s) == 0;  // pairs with unpin
    if (drained) open_ = openness::closed;
    lock_.unlock();
    return drained;
}

// ended: false if Gs have not returned, and the scheduler is left behind.
void runtime::forget(bool ended) noexcept {
    left_behind_.store(ended ? nullptr : scheduler_.load(relaxed), relaxed);  // relaxed: ours; read by its own threads
    scheduler_.store(nullptr, release);                                       // pairs with use
}

std::size_t runtime::abandon() {
    if (detail::simulated_runtimes* sim = detail::simulating(*this)) {
        refuse_own_caller(sim->holds_caller(*this));
        const std::optional<std::size_t> left = sim->abandon(*this);
        if (left) forget(true);
        return left.value_or(0);
    }
    detail::scheduler* s = begin_stop();
    if (s == nullptr) return 0;
    close();
    std::size_t abandoned = 0;
    const bool ended = detail::stop_scheduler(*s, detail::never, abandoned);
    WEFT_ASSERT(ended);
    forget(ended);
    detail::destroy(s);
    return abandoned;
}

stop_outcome runtime::shutdown_by(int64_t deadline_ns) {
    if (detail::simulated_runtimes* sim = detail::simulating(*this)) {
        refuse_own_caller(sim->holds_caller(*this));
        const std::optional<stop_outcome> done = sim->stop(*this, deadline_ns);
        if (done) forget(true);
        return done.value_or(stop_outcome{});
    }
    stop_outcome done;
    detail::scheduler* s = begin_stop();
    if (s == nullptr) return done;
    const uint64_t before = detail::finished_gs(*s);
    for (;;) {
        done.cancelled += detail::cancel_and_drain(*s, nullptr, deadline_ns);
        if (close_if_drained(*s)) break;
        if (detail::os::monotonic_ns() >= deadline_ns) {
            close();
            break;
        }
        detail::pause_until_ns(detail::os::monotonic_ns() + detail::drain_look_ns);
    }
    const bool ended = detail::finish_stop(s, before, done);
    forget(ended);
    if (ended) detail::destroy(s);
    return done;
}

// False for a parent's runtime after a fork: it can be neither ended nor freed.
bool runtime::running() const noexcept {
    if (const detail::simulated_runtimes* sim = detail::runtimes_of_caller()) sim->looks_at(*this);
    // acquire: pairs with start; relaxed: changes only while there is one thread
    return scheduler_.load(acquire) != nullptr && started_in_ == detail::fork_generation.load(relaxed);
}

void runtime::drain() {
    detail::simulated_runtimes* const sim = detail::simulating(*this);
    if (sim != nullptr ? sim->holds_caller(*this) : detail::is_called_by(checked())) {
        detail::fatal(
            "weft::runtime::drain() was called by a green thread of that runtime, which would wait for itself; use a "
            "weft::wait_group");
    }
    if (sim != nullptr) return sim->drain(*this);
    for (;;) {
        {
            const detail::runtime_use s = use();  // not during the pause, so that others can stop it
            if (s == nullptr || detail::live_gs(*s) == 0) return;
        }
        detail::pause_until_ns(detail::os::monotonic_ns() + detail::drain_look_ns);
    }
}

unsigned runtime::procs() const noexcept {
    if (const detail::simulated_runtimes* sim = detail::simulating(*this)) return sim->procs(this);
    const detail::runtime_use s = use();
    return s == nullptr ? 0 : s->ps.in_use();
}

unsigned runtime::set_max_procs(unsigned n) {
    detail::check_procs(n);
    if (detail::simulated_runtimes* sim = detail::simulating(*this)) return sim->change_procs(this, n);
    const detail::runtime_use s = checked();
    return detail::change_max_procs(*s, n);
}

unsigned set_max_procs(unsigned n) {
    detail::check_procs(n);
    if (detail::simulated_runtimes* sim = detail::runtimes_of_caller()) return sim->change_procs(nullptr, n);
    const detail::M* m = detail::current_g_m();
    if (m != nullptr) return detail::change_max_procs(*m->home, n);
    detail::scheduler& s = detail::pin_default_scheduler();
    const detail::pinned_scheduler pinned(s);
    return detail::change_max_procs(s, n);
}

void detail::runtime_use::unpin(scheduler& s) noexcept { s.unpin(); }

// After abandon() or shutdown(), only for Gs left behind. Until pinned under the lock, the
// scheduler may be stopped, so it is not read before.
detail::runtime_use runtime::use() const noexcept {
    detail::scheduler* s = scheduler_.load(acquire);  // pairs with start
    if (s == nullptr) {
        detail::scheduler* left =
            left_behind_.load(relaxed);  // relaxed: only compared, or the caller is one of its threads
        return {left != nullptr && detail::is_called_by(left) ? left : nullptr, false};
    }
    if (detail::is_called_by(s)) {
        if (detail::simulated_runtimes* sim = detail::runtimes_of_caller()) sim->choose(*this);
        return {s, false};
    }
    if (detail::runtimes_of_caller() != nullptr)
        detail::current_simulation()->escapes("uses a weft::runtime that was started outside of the simulation");
    if (started_in_ != detail::fork_generation.load(detail::relaxed_alone))
        detail::fatal_in_child("a runtime of the parent was");
    lock_.lock();
    s = open_ == openness::closed ? nullptr : scheduler_.load(detail::relaxed_locked);
    if (s != nullptr) s->pin();
    lock_.unlock();
    return {s, s != nullptr};
}

detail::runtime_use runtime::checked() const noexcept {
    detail::runtime_use s = use();
    if (s == nullptr) detail::fatal("a weft::runtime was used after it stopped; call start() first");
    return s;
}

}  // namespace weft
