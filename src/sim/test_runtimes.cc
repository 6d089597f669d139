// test_runtimes.cc: see test_runtimes.h.
#include "sim/test_runtimes.h"

#include <algorithm>
#include <chrono>
#include <string>

#include <weft/debug.h>
#include <weft/runtime.h>

#include "sched/scheduler.h"
#include "sim/controlled_run.h"

namespace weft::sim {

using weft::detail::operation;

namespace {

// Of a runtime that does not say how many it wants: the same on every machine.
constexpr unsigned usual_procs = 4;

std::chrono::steady_clock::time_point time_of(int64_t ns) {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(ns));
}

std::string number_of_green_threads(uint64_t n) {
    return std::to_string(n) + (n == 1 ? " green thread" : " green threads");
}

}  // namespace

void test_runtimes::clear() {
    all_.clear();
    all_.emplace_back();
    of_.clear();
    chosen_.clear();
    starting_.clear();
}

weft::detail::cancel_context* test_runtimes::place(const weft::detail::G& g,
                                                   uint32_t number,
                                                   uint32_t starter,
                                                   unsigned host) {
    uint32_t to = starter == 0 ? 0 : of_[starter];
    const auto known = std::find_if(starting_.begin(), starting_.end(), [&](const auto& s) { return s.first == g.id; });
    if (known != starting_.end()) {
        to = known->second;
        starting_.erase(known);
    }
    if (to != 0 && all_[to].of == nullptr)
        run_.fail(verdict::leaked,
                  "a timer of a weft::runtime has started a green thread after it had ended; stop timers before");
    of_.resize(number + 1);
    of_[number] = to;
    ++all_[to].started;
    return all_[to].host == host ? all_[to].context : nullptr;
}

void test_runtimes::ended(uint32_t number) noexcept {
    account& a = all_[of_[number]];
    ++a.ended;
    if (a.of == nullptr) return;
    run_.has_done(operation::count_add, &a);
    if (a.live() != 0) return;
    // The one that has ended makes its last switch without a step, so that it is gone when these run.
    const controlled_run::without_steps quiet(run_);
    for (event* drain : std::exchange(a.drains, {})) drain->set();
}

std::size_t test_runtimes::forget() noexcept {
    std::size_t left = 0;
    for (account& a : all_) {
        if (a.of == nullptr) continue;
        ++left;
        a.of = nullptr;
        a.place->store(nullptr, weft::detail::relaxed);  // relaxed: its users are on this thread
    }
    return left;
}

const test_runtimes::account& test_runtimes::account_of(uint32_t number) const noexcept {
    return all_[number < of_.size() ? of_[number] : 0];
}

uint32_t test_runtimes::caller() const noexcept { return run_.number_of_caller(); }

uint32_t test_runtimes::index_of(const runtime& r) const noexcept {
    for (uint32_t i = 1; i < all_.size(); ++i) {
        if (all_[i].of == &r) return i;
    }
    return 0;
}

test_runtimes::account& test_runtimes::of_runtime(const runtime* r) noexcept {
    if (r != nullptr) return all_[index_of(*r)];
    const uint32_t number = caller();
    return all_[number < of_.size() ? of_[number] : 0];
}

const test_runtimes::account& test_runtimes::of_runtime(const runtime* r) const noexcept {
    return r != nullptr ? all_[index_of(*r)] : account_of(caller());
}

void test_runtimes::start(const runtime& r, weft::detail::atomic<weft::detail::scheduler*>& place, unsigned procs) {
    account& a = all_.emplace_back();
    a.of = &r;
    a.place = &place;
    a.procs = procs == 0 ? usual_procs : procs;
    a.host = run_.host_of_caller();
    a.context = run_.network().computers.new_context_of_runtime(a.host);
}

bool test_runtimes::has(const runtime& r) const noexcept { return index_of(r) != 0; }

bool test_runtimes::holds_caller(const runtime& r) const noexcept { return account_of(caller()).of == &r; }

void test_runtimes::choose(const runtime& r) {
    const uint32_t number = caller();
    if (number >= chosen_.size()) chosen_.resize(number + 1);
    chosen_[number] = index_of(r);
}

void test_runtimes::starts(const weft::detail::G& g) {
    const uint32_t number = caller();
    const uint32_t to = number < chosen_.size() ? chosen_[number] : 0;
    if (to != 0) starting_.emplace_back(g.id, to);
}

// Not a cancellation point.
void test_runtimes::wait_until_empty(account& a, int64_t deadline_ns) {
    const weft::detail::ambient_scope not_interrupted(weft::detail::shield_context(), false);
    while (a.live() != 0) {
        event empty;
        a.drains.push_back(&empty);
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

stop_outcome test_runtimes::stop(const runtime& r, int64_t deadline_ns) {
    account& a = of_runtime(&r);
    weft::detail::step(operation::cancel, &a);
    stop_outcome done;
    const uint64_t before = a.ended;
    a.stopping = true;
    done.cancelled = static_cast<std::size_t>(a.live() - runnable(a));
    a.context->cancel();
    wait_until_empty(a, deadline_ns);
    done.drained = static_cast<std::size_t>(a.ended - before);
    done.abandoned = abandon(r);
    return done;
}

std::size_t test_runtimes::abandon(const runtime& r) noexcept {
    account& a = of_runtime(&r);
    a.of = nullptr;
    const auto left = static_cast<std::size_t>(a.live());
    if (left != 0)
        run_.fail(verdict::leaked, number_of_green_threads(left) +
                                       " of a weft::runtime had not ended when it did; make them return before");
    return left;
}

unsigned test_runtimes::procs(const runtime* r) const noexcept { return of_runtime(r).procs; }

unsigned test_runtimes::change_procs(const runtime* r, unsigned n) noexcept {
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
    all.running = &account_of(caller()) == &a ? 1 : 0;
    all.running_without_p = all.in_call = 0;
    all.runnable = all.queued_local = runnable(a);
    all.queued_global = all.queued_high = all.queued_low = 0;
    all.waiting = all.live - all.running - all.runnable;
}

}  // namespace weft::sim
