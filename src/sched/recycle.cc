// recycle.cc: see recycle.h.
#include "sched/recycle.h"

#include <iterator>
#include <utility>

#include "per_g/labels.h"
#include "per_g/spawn_resources.h"
#include "sched/switch.h"
#include "sched/trim.h"

namespace weft::detail {

namespace {

constexpr uint32_t sample_every = 64;  // stacks left behind per depth sample

}  // namespace

void unbind_stack(scheduler& s, G* g) noexcept {
    struct stack* left = std::exchange(g->stack, nullptr);
    if (left == nullptr) return;
    left->owner = nullptr;
    g->special.fetch_and(static_cast<uint16_t>(~special::canary), relaxed);  // relaxed: ours, except frozen
    give_stack(s, left);
}

[[gnu::noinline]] static void note_depth(scheduler& s, const G& g, struct stack& on) noexcept {
    s.places.note(g.where, 0, touched_bytes(on));
    if (on.measured) static_cast<void>(s.stacks.discard_depth(on));  // for its next owner
}

[[gnu::noinline]] static void leave_stack_behind(M* m, G* g) noexcept {
    P* p = m->p;
    struct stack* left = std::exchange(g->stack, nullptr);
    left->owner = nullptr;
    left->sanitizers.end_g();
    if (left->measured || ++p->left_behind % sample_every == 0) [[unlikely]]
        note_depth(*m->home, *g, *left);
    if (left->size_class != 0) {
        give_stack(*m->home, left);
        return;
    }
    if (p->stacks.size() < P::cached_stacks_max) {
        p->stacks.push(left);
        return;
    }
    struct stack* spilled[P::cached_stacks_max / 2 + 1] = {left};
    uint32_t n = 1;
    while (p->stacks.size() > P::cached_stacks_max / 2 && n < std::size(spilled)) spilled[n++] = p->stacks.pop();
    fifo<struct stack> batch = link_ahead(spilled, n);
    give_stacks(*m->home, batch);
}

void empty_caches(scheduler& s, P& p) noexcept {
    fifo<G> gs;
    while (G* g = p.dead_gs.pop()) {
        unbind_stack(s, g);
        g->behind = nullptr;
        gs.push_back(g);
    }
    if (!gs.empty()) give_gs(s, gs);
    fifo<struct stack> stacks;
    while (struct stack* on = p.stacks.pop()) {
        on->behind = nullptr;
        stacks.push_back(on);
    }
    if (!stacks.empty()) give_stacks(s, stacks);
    s.stacks.unreserve(std::exchange(p.credits, 0));
}

static void give_to_pools(scheduler& s, G* g) noexcept {
    fifo<G> one;
    one.push_back(g);
    give_gs(s, one);
    s.stacks.unreserve(1);
}

void recycle_g_outside(scheduler& s, G* g) noexcept {
    g->set_state(g_state::running, g_state::dead);
    s.external_ends.fetch_add(1, release);  // as in recycle_g
    if (g->stack != nullptr) g->stack->sanitizers.end_g();
    if (g->stack != nullptr && g->stack->measured) note_depth(s, *g, *g->stack);
    unbind_stack(s, g);
    give_to_pools(s, g);
}

[[gnu::noinline]] static void spill_caches(M* m) noexcept {
    P* p = m->p;
    scheduler& s = *m->home;
    if (p->credits > P::credits_max) {
        s.stacks.unreserve(P::cache_batch);
        p->credits -= P::cache_batch;
    }
    if (p->dead_gs.size() > P::cached_gs_max) {
        G* spilled[P::cached_gs_max / 2 + 1];
        uint32_t n = 0;
        while (p->dead_gs.size() > P::cached_gs_max / 2 && n < std::size(spilled)) {
            spilled[n] = p->dead_gs.pop();
            unbind_stack(s, spilled[n]);
            ++n;
        }
        fifo<G> batch = link_ahead(spilled, n);
        give_gs(s, batch);
    }
}

// In the runtime.
[[gnu::always_inline]] static inline void keep_dead(M* m, G* g) noexcept {
    P* p = m->p;
    // It keeps its stack for reuse while few Gs do.
    if (g->stack != nullptr && (sanitized || g->size_class != 0 || p->dead_gs.size() >= P::bound_gs_max)) [[unlikely]]
        leave_stack_behind(m, g);
    p->dead_gs.push(g);
    if (++p->credits > P::credits_max || p->dead_gs.size() > P::cached_gs_max) [[unlikely]]
        spill_caches(m);
}

void recycle_g(M* m, G* g) noexcept {
    g->set_state(g_state::running, g_state::dead);
    m->p->count.finished.add_release();  // makes its writes visible after drain()
    keep_dead(m, g);
}

void spawn_abandon(G* g) noexcept {
    scheduler& s = *g->home;
    if (!g->closure_is_inline()) free_closure(*g->entry, g->closure());
    if ((g->traits & trait::locals) != 0) discard_locals(g->locals);
    drop_labels(*g);
    M* m = current_g_m();
    const bool local = m != nullptr && m->home == &s;
    if (local && g->stack == nullptr) {
        const bool has_p = enter(m);
        if (has_p) keep_dead(m, g);
        leave(m);
        if (has_p) return;
    }
    if (g->stack != nullptr) g->stack->sanitizers.end_g();
    unbind_stack(s, g);
    give_to_pools(s, g);
    if (!local) s.unpin();
}

void hand_stack_over(M* m, G* from, G* to) noexcept {
    struct stack* on = from->stack;
    from->stack = nullptr;
    recycle_g(m, from);
    to->stack = on;
    on->owner = to;
    // Started; its first switch away writes the real values. sp last: other threads read it.
    to->context.pc = nullptr;
    to->context.fp = nullptr;
    __atomic_store_n(&to->context.sp, on->top(), __ATOMIC_RELEASE);
    m->g = to;
    to->state.store(g_state::running, relaxed);  // relaxed: ours; dumps pair by heavy fence
    compiler_fence();
    // Checked before, but a dump may have frozen it since. acquire: as in hand_m_over
    if (to->special.load(acquire) != 0) [[unlikely]]
        enter_special(m, to);
    m->p->count.stack_hits.add();
}

}  // namespace weft::detail
