// yield.cc: a green thread's operations on itself: yield, checkpoint, this_g.
#include <weft/detail/fork_frame.h>
#include <weft/go.h>

#include "base/assert.h"
#include "handoff/blocking.h"
#include "handoff/retake.h"
#include "os/cpu_ticks.h"
#include "os/os.h"
#include "sched/fork_list.h"
#include "sched/schedule.h"
#include "sched/simulation.h"
#include "sched/switch.h"
#include "sched/switch_hooks.h"

namespace weft {

namespace {

using namespace detail;

[[gnu::noinline]] bool look_at_slice(M* m, uint64_t ticks) noexcept {
    const int64_t now_ns = clock_ns();
    const uint64_t slice = m->p->slice();
    m->checkpoint_clock_due = ticks + os::clock_interval;
    if (m->checkpoint_slice != slice) {
        m->checkpoint_slice = slice;
        m->slice_began_ns = now_ns;
    }
    if (now_ns - m->slice_began_ns < m->home->slice_ns) return false;
    if (enter(m)) end_slice(m);
    leave(m);
    return true;
}

[[gnu::noinline]] bool yield_through_g0(M* m) noexcept {
    P* p = m->p;
    if (m->picked == nullptr && !g0_may_find(*m->home, p)) {
        m->empty_yields.store(m->empty_yields.load(relaxed) + 1, relaxed);  // relaxed: only we write it; a hint
        leave(m);
        return false;
    }
    if (slice_was_ended(m)) end_slice(m);
    // Otherwise the G would follow itself in 60 of 61 schedules.
    if (m->picked == nullptr && !p->has_work()) m->picked = take_share_of_global(*m->home, p);
    const uint64_t tick = p->tick();
    m->after.what = after_switch::kind::requeue;
    m->after.g = m->g;
    m = switch_g_to_g0(m, m->g, false);
    finish_switch(m);
    // Another G ran, unless the very next schedule of this P was ours.
    const bool another = m->p != p || p->tick() - tick > 1;
    leave(m);
    return another;
}

// If the slice of m's G is over, ends it and returns true.
[[gnu::always_inline]] inline bool slice_is_over(M* m) noexcept {
    const uint64_t ticks = os::cpu_ticks();
    if (m->checkpoint_slice == m->p->slice() && ticks < m->checkpoint_clock_due) [[likely]]
        return false;
    return look_at_slice(m, ticks);
}

[[noreturn, gnu::cold]] void fatal_not_in_g() noexcept {
    if (is_in_hook()) fatal_in_hook("called weft::yield()");
    if (lender_of(current_m()) != nullptr) {
        fatal(
            "weft::yield() was called inside weft::blocking(), where the OS thread belongs to the call; yield after "
            "the call");
    }
    fatal("weft::yield() was called by a plain thread; use std::this_thread::yield() there");
}

// yield() without a P: waiting for one lets others run.
[[gnu::noinline]] bool yield_without_p(M* m) noexcept {
    if (take_back_p(*m->home, m)) return yield_through_g0(m);
    leave(queue_for_p(m));
    return true;
}

// m's G may also be one of a usual runtime.
[[gnu::noinline, gnu::cold]] bool yield_in_simulation(M* m) noexcept {
    simulation* sim = controlling();
    if (sim == nullptr) return enter(m) ? yield_through_g0(m) : yield_without_p(m);
    const bool replaced = sim->replaces(m->g, operation::yield, nullptr);
    if (replaced) requeue(m);
    return replaced;
}

}  // namespace

bool yield() {
    M* m = current_g_m();
    if (m == nullptr) [[unlikely]]
        fatal_not_in_g();
    if (simulates()) [[unlikely]]
        return yield_in_simulation(m);
    if (!enter(m)) [[unlikely]]
        return yield_without_p(m);
    G* from = m->g;
    G* to = pick_direct(m, m->p);
    if (to == nullptr) [[unlikely]]
        return yield_through_g0(m);
    m->after.what = after_switch::kind::requeue;
    m->after.g = from;
    if (!to->started()) [[unlikely]]
        bind_stack(m, to);
    m = switch_g_to_g(m, from, to);
    finish_switch(m);
    leave(m);
    return true;
}

void checkpoint() {
    M* m = current_g_m();
    if (m == nullptr) return;
    step(operation::checkpoint, nullptr);
    if (fork_frame*& newest = fork_list_of(*m->g); newest != nullptr) {
        newest->offer(m, newest);
        m = current_m();
    }
    // relaxed: a request may be seen a little later
    const uintptr_t word = m->p->owner.load(relaxed);
    const bool lost = (word & ~attention::mask) != reinterpret_cast<uintptr_t>(m);
    if (lost || (word & attention::preempt) != 0 || slice_is_over(m)) [[unlikely]]
        yield();
}

namespace this_g {

uint64_t id() noexcept {
    const detail::M* m = detail::current_g_m();
    return m == nullptr ? 0 : m->g->id;
}

std::string_view name() noexcept {
    const detail::M* m = detail::current_g_m();
    return m == nullptr ? std::string_view{} : std::string_view{m->g->name_or_empty()};
}

void set_name(std::string_view name) noexcept {
    detail::M* m = detail::current_g_m();
    if (m == nullptr) return;
    detail::G* g = m->g;
    g->set_name(name);
    g->stack->sanitizers.name_g(g->id, g->name_or_empty());
    if ((g->special.load(detail::relaxed_hint) & detail::special::traced) == 0) return;
    static_cast<void>(detail::enter(m));  // with or without a P, nothing interrupts it
    detail::record_name(m, *g);
    detail::leave(m);
}

}  // namespace this_g

}  // namespace weft
