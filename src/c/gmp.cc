// gmp.cc: see weft/run/gmp.h.
//
// The opaque types are G, M and P themselves. Gs and Ps stay readable while their scheduler exists
// (g_pool.h, procs.h). Ms are freed. So an M is accessed only under threads_lock, after it was
// found in the list.
#include <cstdint>

#include <weft/run/gmp.h>

#include "debug/g_snapshot.h"
#include "sched/scheduler.h"
#include "sched/switch.h"

namespace {

using namespace weft::detail;

run_g_t* handle_of(const G* g) noexcept { return reinterpret_cast<run_g_t*>(const_cast<G*>(g)); }

run_m_t* handle_of(const M* m) noexcept { return reinterpret_cast<run_m_t*>(const_cast<M*>(m)); }

run_p_t* handle_of(const P* p) noexcept { return reinterpret_cast<run_p_t*>(const_cast<P*>(p)); }

const G* object_of(const run_g_t* g) noexcept { return reinterpret_cast<const G*>(g); }

const P* object_of(const run_p_t* p) noexcept { return reinterpret_cast<const P*>(p); }

// Uses the caller's scheduler, or the default one.
template <typename T, typename F>
T of_callers(F&& of, const T& if_none) noexcept {
    if (const M* m = current_g_m()) return of(*m->home);
    scheduler* s = pin_default_scheduler_if_any();
    if (s == nullptr) return if_none;
    const T result = of(*s);
    s->unpin();
    return result;
}

// m cannot end during the call. Returns if_none if it has ended before.
template <typename T, typename F>
T of_m(const run_m_t* m, F&& of, const T& if_none) noexcept {
    const auto find = [&](scheduler& s) {
        T result = if_none;
        s.threads_lock.lock();
        for (const M* each = s.all_ms; each != nullptr; each = each->all_next) {
            if (handle_of(each) != m) continue;
            result = of(*each);
            break;
        }
        s.threads_lock.unlock();
        return result;
    };
    return m == nullptr ? if_none : of_callers(find, if_none);
}

const M* runner_of(const run_g_t* g) noexcept {
    const M* m = current_g_m();
    return m != nullptr && handle_of(m->g) == g ? m : nullptr;
}

bool has_its_p(const M& m) noexcept { return holder_of(m.p->owner.load(relaxed_count)) == &m; }

WEFT_NO_SANITIZE uint16_t last_p_of(const G& g) noexcept { return __atomic_load_n(&g.last_p, __ATOMIC_RELAXED); }

}  // namespace

run_g_t* run_current_g(void) noexcept {
    const M* m = current_g_m();
    return m == nullptr ? nullptr : handle_of(m->g);
}

run_m_t* run_current_m(void) noexcept { return handle_of(current_g_m()); }

run_p_t* run_current_p(void) noexcept {
    const M* m = current_g_m();
    return m == nullptr || !has_its_p(*m) ? nullptr : handle_of(m->p);
}

run_p_t* run_p_at(unsigned index) noexcept {
    return of_callers([=](const scheduler& s) { return index < s.ps.in_use() ? handle_of(&s.ps[index]) : nullptr; },
                      static_cast<run_p_t*>(nullptr));
}

uint64_t run_g_get_id(const run_g_t* g) noexcept { return g == nullptr ? 0 : id_of(*object_of(g)); }

run_g_status_t run_g_get_status(const run_g_t* g) noexcept {
    if (g == nullptr) return RUN_G_DEAD;
    switch (object_of(g)->state.load(acquire)) {  // pairs with set_state
        case g_state::idle:
            return RUN_G_IDLE;
        case g_state::runnable:
            return RUN_G_RUNNABLE;
        case g_state::running:
        case g_state::in_call:
            return RUN_G_RUNNING;
        case g_state::waiting:
            return RUN_G_WAITING;
        case g_state::dead:
            return RUN_G_DEAD;
    }
    return RUN_G_DEAD;
}

void* run_g_get_stack_base(const run_g_t* g) noexcept {
    const M* m = runner_of(g);
    return m == nullptr ? nullptr : m->g->stack->low;
}

size_t run_g_get_stack_size(const run_g_t* g) noexcept {
    const M* m = runner_of(g);
    return m == nullptr ? 0 : static_cast<size_t>(m->g->stack->high() - m->g->stack->low);
}

run_p_t* run_g_get_last_p(const run_g_t* g) noexcept {
    if (g == nullptr || (runner_of(g) == nullptr && object_of(g)->never_ran())) return nullptr;
    const uint32_t index = last_p_of(*object_of(g));
    return of_callers([=](const scheduler& s) { return index < s.ps.made() ? handle_of(&s.ps[index]) : nullptr; },
                      static_cast<run_p_t*>(nullptr));
}

bool run_g_get_preempt(const run_g_t* g) noexcept {
    const M* m = runner_of(g);
    if (m == nullptr) return false;
    const uintptr_t word = m->p->owner.load(relaxed);  // relaxed: the request may be noticed a little later
    return holder_of(word) != m || (word & attention::preempt) != 0;
}

uint64_t run_m_get_id(const run_m_t* m) noexcept {
    return of_m(m, [](const M& found) { return uint64_t{found.index}; }, UINT64_MAX);
}

int64_t run_m_get_thread_id(const run_m_t* m) noexcept {
    return of_m(m, [](const M& found) { return int64_t{found.tid()}; }, int64_t{0});
}

run_g_t* run_m_get_current_g(const run_m_t* m) noexcept {
    const auto read = [](const M& found) {
        const m_snapshot now(found);
        return handle_of(now.g != nullptr ? now.g : now.lent_by);
    };
    return of_m(m, read, static_cast<run_g_t*>(nullptr));
}

run_p_t* run_m_get_current_p(const run_m_t* m) noexcept {
    const auto read = [](const M& found) {
        const m_snapshot now(found);
        return now.has_p ? handle_of(now.p) : nullptr;
    };
    return of_m(m, read, static_cast<run_p_t*>(nullptr));
}

uint32_t run_p_get_id(const run_p_t* p) noexcept { return p == nullptr ? UINT32_MAX : object_of(p)->index; }

run_p_status_t run_p_get_status(const run_p_t* p) noexcept {
    run_m_t* const m = run_p_get_bound_m(p);
    if (m == nullptr) return RUN_P_IDLE;
    const bool in_call = of_m(m, [](const M& found) { return found.in_call.load(relaxed_count); }, false);
    return in_call ? RUN_P_SYSCALL : RUN_P_RUNNING;
}

uint32_t run_p_get_run_queue_len(const run_p_t* p) noexcept {
    if (p == nullptr) return 0;
    const P& of = *object_of(p);
    const uint32_t next = of.run_next.load(relaxed_count) != nullptr ? 1 : 0;
    return of.queue.size() + of.high.size() + of.low.size() + next;
}

run_m_t* run_p_get_bound_m(const run_p_t* p) noexcept {
    return p == nullptr ? nullptr : handle_of(holder_of(object_of(p)->owner.load(relaxed_count)));
}
