// procs.cc: see procs.h.
#include "sched/procs.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <system_error>
#include <utility>

#include <weft/error.h>

#include "base/assert.h"
#include "handoff/retake.h"
#include "lifecycle/start.h"
#include "os/commit.h"
#include "os/os.h"
#include "os/whole_pages.h"
#include "sched/priority_queues.h"
#include "sched/recycle.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

constexpr std::size_t area = procs_max * sizeof(P);

[[noreturn]] void throw_no_memory(int error) {
    throw resource_exhausted(std::error_code(error, std::generic_category()),
                             "weft: no memory for the processors of a runtime (use fewer: runtime_options::procs)");
}

std::unique_ptr<stealing_order> make_order(uint32_t n) {
    auto order = std::make_unique<stealing_order>();
    order->n = n;
    order->strides.reset(new uint32_t[n]);
    for (uint32_t i = 1; i <= n; ++i) {
        if (std::gcd(i, n) == 1) order->strides[order->count++] = i % n;
    }
    return order;
}

void move_timers(timer_queue& from, timer_queue& to) noexcept {
    const internals all;
    for (bool closed = false; !closed;) {
        from.lock.lock();
        to.lock.lock_second();
        closed = from.move_some_locked(to);
        to.lock.unlock_second();
        from.lock.unlock();
    }
}

}  // namespace

void move_gs(scheduler& s, P& p) noexcept {
    fifo<G> all;
    if (G* g = p.run_next.load(relaxed)) {   // relaxed: p is ours
        p.run_next.store(nullptr, relaxed);  // relaxed: as above
        g->behind = nullptr;
        all.push_back(g);
    }
    G* ahead = nullptr;
    while (G* g = p.queue.pop(ahead)) {
        g->behind = nullptr;
        all.push_back(g);
    }
    if (!all.empty()) s.global.push(all);
    while (G* g = p.high.pop()) s.high.push(g);
    while (G* g = p.low.pop()) s.low.push(g);
    p.low_waits = false;
}

processors::processors(uint32_t n) : at_(static_cast<P*>(os::map_reserved(os::whole_pages(area)))) {
    if (at_ == nullptr) throw_no_memory(errno);
    if (const int error = make_up_to(n)) {
        free_all();
        throw_no_memory(error);
    }
    try {
        orders_[n] = make_order(n);
    } catch (...) {
        free_all();
        throw;
    }
    set_reach(n);
    in_use_.store(n, relaxed_alone);
    alive_.store(n, relaxed_alone);
}

processors::~processors() { free_all(); }

void processors::free_all() noexcept {
    for (uint32_t i = 0; i < made(); ++i) at_[i].~P();
    os::unmap_pages(at_, os::whole_pages(area));
}

P& processors::operator[](uint32_t index) const noexcept { return at_[index]; }

bool processors::is_surplus(const P& p) const noexcept { return p.index >= in_use(); }

int processors::make_up_to(uint32_t n) noexcept {
    const std::size_t needed = os::whole_pages(n * sizeof(P));
    if (needed > committed_) {
        auto* from = reinterpret_cast<std::byte*>(at_) + committed_;
        if (const int error = os::commit_pages(from, needed - committed_)) return error;
        committed_ = needed;
    }
    for (uint32_t i = made(); i < n; ++i) {
        is_internal(::new (at_ + i) P, sizeof(P));
        at_[i].index = i;
        at_[i].state.store(p_state::dead, relaxed);  // relaxed: not visible yet
        made_.store(i + 1, release);                 // pairs with made
    }
    return 0;
}

void processors::set_reach(uint32_t n) noexcept {
    reach_.store(n, release);  // pairs with reach
    WEFT_ASSERT(n <= made() && orders_[n] != nullptr);
    order_.store(orders_[n].get(), release);  // pairs with order
}

namespace {

// The idle lock is held, and p is stopped or dead.
void open_timers_locked(P& p) noexcept {
    p.timers.lock.lock();
    p.timers.open_locked();
    p.timers.lock.unlock();
}

// The idle lock is held. Ps that are not dead yet stay.
void revive_locked(scheduler& s, uint32_t first, uint32_t last, atomic<uint32_t>& alive) noexcept {
    WEFT_DCHECK(s.idle.is_locked());
    WEFT_ASSERT(last <= s.ps.made());
    for (uint32_t i = first; i < last; ++i) {
        P& p = s.ps[i];
        if (p.state.load(relaxed_locked) != p_state::dead) continue;
        open_timers_locked(p);
        p.state.store(p_state::idle, relaxed_locked);
        put_idle_p_locked(s, &p);
        alive.store(alive.load(relaxed_locked) + 1, relaxed_locked);
    }
}

}  // namespace

uint32_t procs_within(uint32_t threads_max, uint32_t wanted) noexcept {
    return std::min(wanted, std::max(threads_max - 1, uint32_t{1}));
}

void change_procs(scheduler& s, uint32_t n, procs_by who) {
    WEFT_ASSERT(n >= 1 && n <= procs_max && n == procs_within(s.threads_max, n));
    processors& all = s.ps;
    idle_state& idle = s.idle;
    all.changing_.lock();
    if (who == procs_by::monitor && !s.follows_cpus.load(relaxed_locked)) {
        all.changing_.unlock();
        return;
    }
    const uint32_t before = all.in_use();
    std::unique_ptr<stealing_order> order;
    try {
        if (all.orders_[n] == nullptr) order = make_order(n);
    } catch (...) {
        all.changing_.unlock();
        throw;
    }
    if (n > all.made()) {
        const uint32_t more = (n - all.made()) * stacks_kept_by_p;
        int error = s.stacks.reserve_for_caches(more);
        if (error == 0) {
            error = all.make_up_to(n);
            if (error != 0) s.stacks.unreserve_for_caches(more);
        }
        if (error != 0) {
            all.changing_.unlock();
            throw_no_memory(error);
        }
    }
    if (who != procs_by::monitor) s.follows_cpus.store(who == procs_by::request_to_follow, relaxed_locked);
    uint32_t surplus = 0;
    P* gone[procs_max];
    idle_guard held(idle);
    if (order != nullptr) all.orders_[n] = std::move(order);
    all.in_use_.store(n, release);  // pairs with in_use; Ms with a surplus P are asked, or see it under the lock
    if (n > all.reach()) all.set_reach(n);
    if (n > before) revive_locked(s, before, n, all.alive_);
    for (uint32_t i = n; i < before; ++i) {
        P* p = take_this_idle_p_locked(s, i);
        if (p == nullptr) continue;
        p->state.store(p_state::stopped, relaxed_locked);
        gone[surplus++] = p;
    }
    held.unlock();
    for (uint32_t i = n; i < before; ++i) ask_to_hurry(all[i]);
    while (surplus != 0) retire_p(s, *gone[--surplus]);
    all.changing_.unlock();
    follow_procs(s, before, n);
    if (n > before) wake_for_outside(s, procs_max);
    s.sysmon.scan_soon();
}

void retire_p(scheduler& s, P& p) noexcept {
    WEFT_ASSERT(p.owner.load(relaxed) == 0 && p.index != 0);  // relaxed: it is ours
    p.state.store(p_state::stopped, relaxed);                 // relaxed: as above
    move_gs(s, p);
    move_timers(p.timers, s.ps[0].timers);
    empty_caches(s, p);
    idle_state& idle = s.idle;
    processors& all = s.ps;
    idle_guard held(idle);
    const bool kept = !all.is_surplus(p);  // the number was raised in between
    if (kept) {
        open_timers_locked(p);
        p.state.store(p_state::idle, relaxed_locked);
        put_idle_p_locked(s, &p);
    } else {
        WEFT_ASSERT(all.alive() > 1);
        p.state.store(p_state::dead, relaxed_locked);
        all.alive_.store(all.alive_.load(relaxed_locked) - 1, relaxed_locked);
        uint32_t reach = all.reach();
        while (reach > all.in_use() && all[reach - 1].state.load(relaxed_locked) == p_state::dead) --reach;
        if (all.orders_[reach] != nullptr) all.set_reach(reach);  // at the latest with the last surplus P
    }
    held.unlock();
    wake_for_outside(s, procs_max);  // for what was moved
}

void give_up_surplus_p(scheduler& s, M* m) noexcept {
    idle_guard held(s.idle);
    P* p = release_p_locked(m, held);
    if (std::exchange(m->spinning, false)) count_spinning_locked(s.idle, -1);
    held.unlock();
    retire_p(s, *p);
    sleep_without_p(s, m);
}

void retire_idle_surplus(scheduler& s) noexcept {
    for (uint32_t i = s.ps.in_use(); i < s.ps.reach(); ++i) {
        idle_guard held(s.idle);
        P* p = s.ps.is_surplus(s.ps[i]) ? take_this_idle_p_locked(s, i) : nullptr;
        held.unlock();
        if (p != nullptr) retire_p(s, *p);
    }
}

}  // namespace weft::detail
