// test_runtimes.cc: see test_runtimes.h.
#include "sim/test_runtimes.h"

#include <algorithm>
#include <chrono>

#include <weft/debug.h>
#include <weft/runtime.h>

#include "base/abandoned.h"
#include "lifecycle/abandon.h"
#include "lifecycle/stopping.h"
#include "sched/scheduler.h"
#include "sim/controlled_run.h"

namespace weft::sim {

using weft::detail::operation;

namespace {

// Of a runtime that does not say how many it wants: the same on every machine.
constexpr unsigned usual_procs = 4;

// Between two looks at what still waits, while a runtime is shut down.
constexpr int64_t shortest_look_ns = 1'000'000;
constexpr int64_t longest_look_ns = 1'000'000'000;

std::chrono::steady_clock::time_point time_of(int64_t ns) {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(ns));
}

}  // namespace

void test_runtimes::clear() {
    all_.clear();
    all_.emplace_back();
    indices_.clear();
    of_.clear();
    chosen_.clear();
    starting_.clear();
    abandoned_ = 0;
    stopping_ = 0;
}

void test_runtimes::place(weft::detail::G& g, uint32_t number, uint32_t starter) {
    member m{&g, starter == 0 ? 0 : of_[starter].account};
    const auto known = std::find_if(starting_.begin(), starting_.end(), [&](const auto& s) { return s.first == g.id; });
    if (known != starting_.end()) {
        m.account = known->second;
        starting_.erase(known);
    }
    account& a = all_[m.account];
    ++a.started;
    if (m.account != 0 && a.of == nullptr) {  // a timer of an ended runtime starts it
        m.abandoned = true;
        ++abandoned_;
    }
    of_.resize(number + 1);
    of_[number] = m;
    if (a.stopping) static_cast<void>(weft::detail::end_wait_of(g));  // its waits check
}

void test_runtimes::ended(uint32_t number) noexcept {
    of_[number].g = nullptr;
    account& a = all_[of_[number].account];
    ++a.ended;
    if (a.of == nullptr) return;
    run_.has_done(operation::count_add, &a);
    if (a.live() != 0) return;
    // The one that has ended makes its last switch without a step, so that it is gone when these
    // run.
    const controlled_run::without_steps quiet(run_);
    for (wait_group* drain : std::exchange(a.drains, {})) drain->done();
}

std::size_t test_runtimes::forget() noexcept {
    std::size_t left = 0;
    for (account& a : all_) {
        if (a.of == nullptr) continue;
        ++left;
        a.of = nullptr;
        a.place->store(nullptr, weft::detail::relaxed);  // relaxed: its users are on this thread
    }
    indices_.clear();
    set_cancelling(false);
    return left;
}

const test_runtimes::account& test_runtimes::account_of(uint32_t number) const noexcept {
    return all_[number < of_.size() ? of_[number].account : 0];
}

uint32_t test_runtimes::caller() const noexcept { return run_.number_of_caller(); }

uint32_t test_runtimes::index_of(const runtime& r) const noexcept {
    const auto found = indices_.find(&r);
    return found == indices_.end() ? 0 : found->second;
}

test_runtimes::account& test_runtimes::of_runtime(const runtime* r) noexcept {
    if (r != nullptr) return all_[index_of(*r)];
    const uint32_t number = caller();
    return all_[number < of_.size() ? of_[number].account : 0];
}

const test_runtimes::account& test_runtimes::of_runtime(const runtime* r) const noexcept {
    return r != nullptr ? all_[index_of(*r)] : account_of(caller());
}

void test_runtimes::start(const runtime& r, weft::detail::atomic<weft::detail::scheduler*>& place, unsigned procs) {
    account& a = all_.emplace_back();
    indices_[&r] = static_cast<uint32_t>(all_.size() - 1);
    a.of = &r;
    a.place = &place;
    a.procs = procs == 0 ? usual_procs : procs;
    run_.tell(operation::count_add, &r);
}

bool test_runtimes::has(const runtime& r) const noexcept { return index_of(r) != 0; }

bool test_runtimes::stops_caller() const noexcept { return account_of(caller()).stopping; }

bool test_runtimes::holds_caller(const runtime& r) const noexcept { return account_of(caller()).of == &r; }

void test_runtimes::choose(const runtime& r) {
    run_.tell(operation::count_wait, &r);
    const uint32_t number = caller();
    if (number >= chosen_.size()) chosen_.resize(number + 1);
    chosen_[number] = index_of(r);
}

void test_runtimes::starts(const weft::detail::G& g) {
    const uint32_t number = caller();
    const uint32_t to = number < chosen_.size() ? chosen_[number] : 0;
    if (to != 0) starting_.emplace_back(g.id, to);
}

void test_runtimes::run_main(const runtime_options& options,
                             void (*body)(void*),
                             void* closure,
                             source_location where) {
    runtime mains(options);
    mains.run([body, closure] { body(closure); }, where);
}

void test_runtimes::looks_at(const runtime& r) const noexcept { run_.tell(operation::count_wait, &r); }

// Not a cancellation point.
void test_runtimes::wait_until_empty(account& a, int64_t deadline_ns) {
    const weft::detail::ambient_scope not_interrupted(weft::detail::shield_context(), false);
    while (a.live() != 0) {
        wait_group empty;
        {
            const controlled_run::without_steps at_once(run_);  // none ends between the look and this
            empty.add(1);
            a.drains.push_back(&empty);
        }
        if (deadline_ns == weft::detail::never) {
            empty.wait();
        } else if (!empty.wait_until(time_of(deadline_ns))) {
            std::erase(a.drains, &empty);
            return;
        }
    }
    run_.has_done(operation::count_wait, &a);
}

void test_runtimes::drain(const runtime& r) { wait_until_empty(of_runtime(&r), weft::detail::never); }

// Those that have no context, or begin to wait, check from here on whether they are stopped.
void test_runtimes::set_cancelling(bool any) noexcept {
    run_.only_m->home->cancelling.store(any, weft::detail::release);  // as in cancel_and_drain
}

std::size_t test_runtimes::cancel_waits(uint32_t index) {
    std::size_t n = 0;
    for (std::size_t number = 1; number < of_.size(); ++number) {
        weft::detail::G* const g = of_[number].g;
        if (g == nullptr || of_[number].account != index) continue;
        const weft::detail::ended_wait how = weft::detail::end_wait_of(*g);
        n += how == weft::detail::ended_wait::none ? 0U : 1U;
        if (how == weft::detail::ended_wait::unlinked) weft::detail::ready_simulated(run_.only_m, g);
    }
    return n;
}

std::optional<stop_outcome> test_runtimes::stop(const runtime& r, int64_t deadline_ns) {
    weft::detail::step(operation::cancel, &r);
    const uint32_t index = index_of(r);
    account& a = all_[index];
    if (index == 0 || a.stopping) return std::nullopt;
    stop_outcome done;
    const uint64_t before = a.ended;
    a.stopping = true;
    ++stopping_;
    set_cancelling(true);
    // Some waits cannot be ended, and others follow them.
    for (int64_t pause_ns = shortest_look_ns;; pause_ns = std::min(2 * pause_ns, longest_look_ns)) {
        done.cancelled += cancel_waits(index);
        wait_until_empty(a, std::min(deadline_ns, run_.now_ns + pause_ns));
        if (a.live() == 0 || run_.now_ns >= deadline_ns) break;
    }
    if (--stopping_ == 0) set_cancelling(false);
    done.drained = static_cast<std::size_t>(a.ended - before);
    done.abandoned = abandon_members(index);
    return done;
}

std::optional<std::size_t> test_runtimes::abandon(const runtime& r) {
    weft::detail::step(operation::cancel, &r);
    const uint32_t index = index_of(r);
    if (index == 0 || all_[index].stopping) return std::nullopt;
    return abandon_members(index);
}

// None of them runs: the caller does.
std::size_t test_runtimes::abandon_members(uint32_t index) {
    account& a = all_[index];
    run_.tell(operation::count_add, a.of);
    run_.has_done(operation::count_wait, &a);
    indices_.erase(a.of);
    a.of = nullptr;
    std::size_t n = 0;
    for (member& m : of_) {
        if (m.g == nullptr || m.account != index) continue;
        m.abandoned = true;
        ++n;
    }
    for (const member& m : of_) {
        if (m.g == nullptr || m.account != index) continue;
        weft::detail::unlink_waiter(*m.g);
        m.g->waiting = nullptr;  // it is off all queues
    }
    run_.drop_abandoned();
    abandoned_ += n;
    if (n != 0) weft::detail::abandoned::add(weft::detail::abandoned::locks);  // as abandon_gs
    for (std::size_t number = 1; number < of_.size(); ++number) {              // destructors may start green threads
        weft::detail::G* const g = of_[number].g;
        if (g == nullptr || of_[number].account != index) continue;
        of_[number].g = nullptr;
        weft::detail::release_abandoned(*g);
    }
    return n;
}

unsigned test_runtimes::procs(const runtime* r) const noexcept {
    run_.tell(operation::count_wait, r);
    return of_runtime(r).procs;
}

unsigned test_runtimes::change_procs(const runtime* r, unsigned n) noexcept {
    run_.tell(operation::count_add, of_runtime(r).of);
    return std::exchange(of_runtime(r).procs, n == 0 ? usual_procs : n);
}

uint64_t test_runtimes::runnable(const account& a) const noexcept {
    return run_.count_runnable([&](uint32_t number) { return &account_of(number) == &a; });
}

void test_runtimes::count(const runtime* r, stats_snapshot& all) const noexcept {
    const account& a = of_runtime(r);
    all.procs = a.procs;
    all.spawned = a.started;
    all.finished = a.ended;
    all.live = a.live();
    all.running = caller() != 0 && &account_of(caller()) == &a ? 1 : 0;
    all.running_without_p = all.in_call = 0;
    all.runnable = all.queued_local = runnable(a);
    all.queued_global = all.queued_high = all.queued_low = 0;
    all.waiting = all.live - std::min(all.live, all.running + all.runnable);
}

}  // namespace weft::sim
