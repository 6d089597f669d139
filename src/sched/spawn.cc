// spawn.cc: see spawn.h.
#include "sched/spawn.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "context/fp_control.h"
#include "sched/park.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

constexpr uint64_t id_batch = 16;

// First function on every stack: runs one G after the other, as long as exit_g returns one that may use the same stack.
void g_main(void* argument, void* baton) {
    G* g = static_cast<G*>(argument);
    M* m = static_cast<M*>(baton);
    arrive_on_stack(g->stack->sanitizers);
    finish_switch(m);
    for (;;) {
        leave(m);
        g->entry->run(g->closure);
        if (!g->closure_is_inline()) ::operator delete(g->closure, std::align_val_t{g->entry->align});
        m = current_m();  // not the one from before: g may have migrated
        enter(m);
        g = exit_g(m);
    }
}

[[noreturn]] void throw_exhausted(int error, const char* what) {
    throw resource_exhausted(std::error_code(error, std::generic_category()), what);
}

// A closure's home: in the G, or allocated. Throws std::bad_alloc.
void* allocate_closure(const entry_type& entry) {
    if (entry.size <= G::inline_closure_size && entry.align <= G::inline_closure_align) return nullptr;
    return ::operator new(entry.size, std::align_val_t{entry.align});
}

void free_closure(const entry_type& entry, void* closure) noexcept {
    if (closure != nullptr) ::operator delete(closure, std::align_val_t{entry.align});
}

constexpr const char* no_stacks =
    "weft: no address space for another stack (lower RUN_STACK_MAX or the number of green threads, or raise the limit on "
    "virtual memory)";

// A dead G and, for class 0, a credit, from the caches of the current P. nullptr when they are empty.
G* take_cached(P* p) noexcept {
    if (p->credits == 0 || p->dead_gs.empty()) return nullptr;
    --p->credits;
    p->count.g_hits.add();
    return p->dead_gs.pop_front();
}

// Fills the caches of the caller's P. Throws; then nothing is lost.
void refill_caches(scheduler& s) {
    uint32_t credits = P::cache_batch;
    int error = s.stacks.reserve(credits);
    if (error != 0) {
        credits = 1;
        error = s.stacks.reserve(credits);
    }
    if (error != 0) throw_exhausted(error, no_stacks);
    fifo<G> gs = s.gs.take(P::cache_batch);
    if (gs.empty()) {
        try {
            s.gs.add_block();
        } catch (...) {
            s.stacks.unreserve(credits);
            throw;
        }
        gs = s.gs.take(P::cache_batch);
    }
    M* m = current_m();
    enter(m);
    m->p->credits += credits;
    m->p->dead_gs.append(gs);
    m->p->count.g_misses.add();
    leave(m);
}

// For a caller that has no P of s. Throws.
G* take_from_outside(scheduler& s) {
    if (const int error = s.stacks.reserve(1)) throw_exhausted(error, no_stacks);
    for (;;) {
        fifo<G> one = s.gs.take(1);
        if (G* g = one.pop_front()) return g;
        try {
            s.gs.add_block();
        } catch (...) {
            s.stacks.unreserve(1);
            throw;
        }
    }
}

uint64_t next_id(scheduler& s, P* p) noexcept {
    if (p == nullptr) return s.next_id.fetch_add(1, relaxed);  // relaxed: only uniqueness matters
    if (p->next_id == p->end_id) {
        p->next_id = s.next_id.fetch_add(id_batch, relaxed);  // relaxed: as above
        p->end_id = p->next_id + id_batch;
    }
    return p->next_id++;
}

// A stack of a larger class, at once, so that its absence can be reported. Throws.
struct stack* take_large(scheduler& s, std::size_t size) {
    const int size_class = s.stacks.class_for(size);
    if (size_class < 0) {
        const std::size_t most = s.stacks.usable_size(stack_classes - 1);
        throw std::invalid_argument("weft: stack_size is " + std::to_string(size) + " bytes; the most is " + std::to_string(most));
    }
    if (size_class == 0) return nullptr;
    int error = 0;
    struct stack* taken = s.stacks.take_large(size_class, error);
    if (taken == nullptr) throw_exhausted(error, no_stacks);
    return taken;
}

void start_on(G* g, struct stack* on) noexcept {
    g->stack = on;
    on->owner = g;
    on->sanitizers.begin_g();
    if (on->guard == guard_kind::canary) g->special.fetch_or(special::canary, relaxed);  // relaxed: ours
    run_context_init(&g->context, on->top(), &g_main, g);
}

void fill_in(scheduler& s, G* g, P* p, const spawn_options& options, const entry_type& entry, std::source_location where) noexcept {
    g->id = next_id(s, p);
    g->entry = &entry;
    g->where = where;
    g->home = &s;
    g->size_class = 0;
    g->context.sp = nullptr;
    g->eh = {};
    g->waiting = nullptr;
    g->reason = wait_reason::none;
    uint32_t flags = os::has_heavy_fence() ? 0 : special::no_fence;
    if (options.own_fp_control) {
        flags |= special::own_fp;
        g->fp_control = default_fp_control();
    }
    if (flags != 0 || (g->special.load(relaxed) & ~special::frozen) != 0) {  // relaxed: ours, but for frozen
        g->special.fetch_and(special::frozen, relaxed);                      // relaxed: as above
        g->special.fetch_or(flags, relaxed);                                 // relaxed: as above
    }
    const std::size_t length = std::min(options.name.size(), G::name_size - 1);
    if (length != 0) std::memcpy(g->name, options.name.data(), length);
    g->name[length] = '\0';
}

}  // namespace

spawning spawn_begin(scheduler* s, const spawn_options& options, const entry_type& entry, std::source_location where) {
    M* m = current_g_m();
    if (s == nullptr) s = m != nullptr ? m->home : &default_scheduler();
    const bool local = m != nullptr && m->home == s;

    void* closure = allocate_closure(entry);
    struct stack* large = nullptr;
    G* g = nullptr;
    try {
        if (options.stack_size != 0) large = take_large(*s, options.stack_size);
        if (!local) g = take_from_outside(*s);
        while (g == nullptr) {
            m = current_m();
            enter(m);
            g = take_cached(m->p);
            leave(m);
            if (g == nullptr) refill_caches(*s);
        }
    } catch (...) {
        if (large != nullptr) s->stacks.give(large);
        free_closure(entry, closure);
        throw;
    }

    G* parent = m != nullptr ? m->g : nullptr;
    fill_in(*s, g, local ? m->p : nullptr, options, entry, where);
    g->parent = parent != nullptr ? parent->id : 0;
    g->closure = closure != nullptr ? closure : g->closure_storage;
    if (large != nullptr) {
        g->size_class = large->size_class;
        start_on(g, large);
    }
    return {g, g->closure};
}

void spawn_commit(G* g) noexcept {
    g->set_state(g_state::dead, g_state::runnable);
    M* m = current_g_m();
    if (m == nullptr || m->home != g->home) {
        g->home->foreign_spawns.fetch_add(1, relaxed);  // relaxed: statistics
        push_outside(g);
        return;
    }
    enter(m);
    m->p->count.spawned.add();
    g->since_ns = m->p->now_ns;
    push_next(m, g);
    leave(m);
}

void spawn_abandon(G* g) noexcept {
    scheduler& s = *g->home;
    if (g->stack != nullptr) {
        g->stack->sanitizers.end_g();
        s.stacks.give(g->stack);
    }
    g->stack = nullptr;
    if (!g->closure_is_inline()) free_closure(*g->entry, g->closure);
    fifo<G> one;
    one.push_back(g);
    s.gs.give(one);
    s.stacks.unreserve(1);
}

void bind_stack(M* m, G* to) noexcept {
    if (to->stack != nullptr) return;  // a larger one, since the spawn
    P* p = m->p;
    if (p->stacks.empty()) {
        p->count.stack_misses.add();
        fifo<struct stack> batch = m->home->stacks.take_reused(P::cached_stacks_max / 2);
        p->stacks.append(batch);
    } else {
        p->count.stack_hits.add();
    }
    struct stack* on = p->stacks.pop_front();
    if (on == nullptr) on = m->home->stacks.take();
    start_on(to, on);
}

void hand_stack_over(M* m, G* from, G* to) noexcept {
    struct stack* on = from->stack;
    from->stack = nullptr;
    recycle_g(m, from);
    to->stack = on;
    on->owner = to;
    to->context = {on->top(), nullptr, nullptr};  // started; the real values are written when it first leaves
    to->state.store(g_state::running, relaxed);  // relaxed: only we have it; dumps pair by heavy fence
    m->g = to;
    m->p->count.stack_hits.add();
}

void recycle_g(M* m, G* g) noexcept {
    P* p = m->p;
    scheduler& s = *m->home;
    g->set_state(g_state::running, g_state::dead);
    p->count.finished.add();
    if (struct stack* left = g->stack) {
        g->stack = nullptr;
        left->owner = nullptr;
        left->sanitizers.end_g();
        if (left->size_class != 0) {
            s.stacks.give(left);
        } else {
            p->stacks.push_front(left);
            if (p->stacks.size() > P::cached_stacks_max) {
                fifo<struct stack> spill;
                while (p->stacks.size() > P::cached_stacks_max / 2) spill.push_back(p->stacks.pop_front());
                s.stacks.give(spill);
            }
        }
    }
    if (++p->credits > P::credits_max) {
        s.stacks.unreserve(P::cache_batch);
        p->credits -= P::cache_batch;
    }
    p->dead_gs.push_front(g);
    if (p->dead_gs.size() > P::cached_gs_max) {
        fifo<G> spill;
        while (p->dead_gs.size() > P::cached_gs_max / 2) spill.push_back(p->dead_gs.pop_front());
        s.gs.give(spill);
    }
}

}  // namespace weft::detail

// A context's entry function has returned. Ours never do: g_main loops.
extern "C" void run_g_exit(void) {
    weft::detail::fatal("the entry function of a context returned; end the green thread instead");
}
