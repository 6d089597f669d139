// spawn.cc: see spawn.h.
#include "sched/spawn.h"

#include <cstring>
#include <new>
#include <string>

#include "base/generation.h"
#include "context/fp_control.h"
#include "os/probe.h"
#include "per_g/inheritance.h"
#include "per_g/labels.h"
#include "per_g/spawn_resources.h"
#include "sched/g_main.h"
#include "sched/park.h"
#include "sched/recycle.h"
#include "sched/simulated_runtimes.h"
#include "sched/simulation.h"
#include "sched/switch.h"
#include "sched/switch_hooks.h"
#include "sched/trim.h"

namespace weft::detail {

namespace {

constexpr uint64_t id_batch = 16;

// The class of Gs with a measured stack. Not 0, so that no other G inherits the stack.
constexpr uint8_t measured_class = 0xff;

[[noreturn]] void throw_exhausted(int error, const char* what) {
    throw resource_exhausted(std::error_code(error, std::generic_category()), what);
}

constexpr const char* no_stacks =
    "weft: no address space for another stack (lower RUN_STACK_MAX or the number of green threads, or raise the limit "
    "on virtual memory: ulimit -v)";

// Takes a credit too. nullptr: a cache is empty.
[[gnu::always_inline]] inline G* take_cached(P* p) noexcept {
    if (p->credits == 0) return nullptr;
    G* g = p->dead_gs.pop();
    if (g == nullptr) return nullptr;
    --p->credits;
    p->count.g_hits.add();
    return g;
}

struct refill {
    fifo<G> gs;  // may be empty: other threads took them
    uint32_t credits = P::cache_batch;
    int error = 0;       // why there is no address space for stacks
    bool no_gs = false;  // no memory for Gs

    // Takes them, or nothing.
    explicit refill(scheduler& s) noexcept {
        error = s.stacks.reserve(credits);
        if (error != 0) {
            credits = 1;
            error = s.stacks.reserve(credits);
        }
        if (error != 0) return;
        gs = s.gs.take(P::cache_batch);
        if (!gs.empty()) return;
        no_gs = !s.gs.try_add_block();
        if (no_gs) {
            s.stacks.unreserve(credits);
        } else {
            gs = s.gs.take(P::cache_batch);
        }
    }

    // In the runtime.
    void give_to(P* p) noexcept {
        p->credits += credits;
        p->dead_gs.take_all(gs);
        p->count.g_misses.add();
    }
};

// Loses nothing if it throws.
void refill_caches(scheduler& s) {
    refill got(s);
    if (got.error != 0) throw_exhausted(got.error, no_stacks);
    if (got.no_gs) throw std::bad_alloc();
    M* m = current_m();
    const bool has_p = enter(m);
    if (has_p) got.give_to(m->p);
    leave(m);
    if (!has_p) {
        give_gs(s, got.gs);
        s.stacks.unreserve(got.credits);
    }
}

// For a caller without a P of s. Throws.
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

uint64_t id_from_outside(scheduler& s) noexcept {
    return s.next_id.fetch_add(1, relaxed);  // relaxed: only uniqueness matters
}

// In the runtime.
uint64_t next_id(scheduler& s, P* p) noexcept {
    if (p->next_id == p->end_id) {
        p->next_id = s.next_id.fetch_add(id_batch, relaxed);  // relaxed: only uniqueness matters
        p->end_id = p->next_id + id_batch;
    }
    return p->next_id++;
}

// Throws.
void check_priority(priority p) {
    if (is_class(p)) return;
    throw std::invalid_argument("weft: spawn_options::priority is " + std::to_string(static_cast<unsigned>(p)) +
                                ", which is not a priority class; use normal, high or low");
}

// Called at once, so that failure can be reported. Throws.
struct stack* take_large(scheduler& s, std::size_t size) {
    const int size_class = s.stacks.class_for(size);
    if (size_class < 0) {
        const std::size_t most = s.stacks.usable_size(stack_classes - 1);
        throw std::invalid_argument("weft: stack_size is " + std::to_string(size) + " bytes; the maximum is " +
                                    std::to_string(most));
    }
    if (size_class == 0) return nullptr;
    return take_large_stack(s, size_class);
}

[[gnu::noinline]] void start_on_special(G* g, const struct stack& on) noexcept {
    if (on.guard == guard_kind::canary) g->special.fetch_or(special::canary, relaxed_own);
    if (on.measured && g->size_class == 0) g->size_class = measured_class;
}

[[gnu::always_inline]] inline void start_on(G* g, struct stack* on) noexcept {
    g->stack = on;
    on->owner = g;
    on->forks = nullptr;
    on->sanitizers.begin_g();
    on->sanitizers.name_g(g->id, g->name_or_empty());
    if (on->guard == guard_kind::canary || on->measured) [[unlikely]]
        start_on_special(g, *on);
    run_context_init(&g->context, on->top(), &g_main, g);
}

// Bits of its last life go; frozen and watched may be changed by another thread meanwhile.
[[gnu::noinline]] void start_with(G* g, uint16_t flags) noexcept {
    uint16_t kept = special::frozen | special::watched;
    if (g->stack != nullptr) kept |= special::canary;
    g->special.fetch_and(kept, relaxed);                          // relaxed: ours, except for these
    const uint16_t before = g->special.fetch_or(flags, acquire);  // sees what set_watched_bit did
    const uint16_t now = g->home->g_flags.load(relaxed);          // relaxed: the line before
    const auto stale = static_cast<uint16_t>((before | flags) & ~now & special::watched);  // its user has ended
    if (stale != 0) g->special.fetch_and(static_cast<uint16_t>(~stale), relaxed);          // relaxed: as above
}

[[gnu::noinline]] void apply_options(G* g, const spawn_options& options) noexcept {
    if (options.own_fp_control) {
        g->special.fetch_or(special::own_fp, relaxed);  // relaxed: ours, except frozen
        g->fp_control = default_fp_control();
    }
    g->set_name(options.name);
    if (options.preemptible) {
        g->special.fetch_or(special::interruptible, relaxed);  // relaxed: as above
        g->traits |= trait::marked;
    }
    if (options.priority != priority::normal) set_own_class(*g, options.priority);
}

// For callers without a P of s, empty caches, or a larger stack. Throws.
[[gnu::noinline]] G* take_slowly(scheduler& s, bool local, std::size_t stack_size) {
    struct stack* large = stack_size == 0 ? nullptr : take_large(s, stack_size);
    G* g = nullptr;
    try {
        bool has_p = local;
        while (g == nullptr && has_p) {
            M* m = current_m();
            has_p = enter(m);
            if (has_p) g = take_cached(m->p);
            leave(m);
            if (g == nullptr && has_p) refill_caches(s);
        }
        if (g == nullptr) g = take_from_outside(s);
    } catch (...) {
        if (large != nullptr) give_stack(s, large);
        throw;
    }
    g->context.sp = nullptr;
    g->size_class = 0;
    if (large != nullptr) {
        unbind_stack(s, g);
        g->size_class = large->size_class;
        start_on(g, large);
    }
    return g;
}

}  // namespace

struct stack* take_large_stack(scheduler& s, int size_class) {
    int error = 0;
    struct stack* taken = s.stacks.take_large(size_class, error);
    if (taken == nullptr) throw_exhausted(error, no_stacks);
    return taken;
}

namespace {

[[gnu::always_inline]] inline void fill_in(
    scheduler& s, G* g, uint64_t id, uint64_t parent, const entry_type& entry, source_location where) noexcept {
    g->id = id;
    g->parent = parent;
    g->entry = &entry;
    g->where = where;
    g->home = &s;
    g->eh = {};
    g->traits = 0;
    const uint16_t flags = s.g_flags.load(relaxed_hint);
    if (g->special.load(relaxed) != flags) [[unlikely]]  // relaxed: ours, except frozen and watched
        start_with(g, flags);
    WEFT_PROBE3(spawn, g->id, g->parent, entry.run);
}

// For a G that m's G starts, or, without m, a plain thread.
[[gnu::always_inline]] inline void fill_in_for(
    M* m, scheduler& s, G* g, uint64_t id, const entry_type& entry, source_location where) noexcept {
    fill_in(s, g, id, m != nullptr ? m->g->id : 0, entry, where);
    if (m != nullptr && (m->g->traits & trait::labelled) != 0) [[unlikely]]
        inherit_labels(g, m->g);
}

// Requires: size > 0; both sides are word-aligned and consist of whole words.
[[gnu::always_inline]] inline void copy_words(std::byte* to, const void* from, std::size_t size) noexcept {
    const auto* words = static_cast<const std::byte*>(from);
    std::size_t at = 0;
    do {
        std::memcpy(to + at, words + at, sizeof(uint64_t));
        at += sizeof(uint64_t);
    } while (at < size);
}

// nullptr: m's caches are empty. In the runtime.
[[gnu::always_inline]] inline G* take_quickly(M* m) noexcept {
    G* g = take_cached(m->p);
    if (g != nullptr) {
        g->context.sp = nullptr;
        g->size_class = 0;
    }
    return g;
}

// In the runtime; m is of g's scheduler.
[[gnu::always_inline]] inline void note_start(M* m, G* g) noexcept {
    P* p = m->p;
    g->set_state(g_state::dead, g_state::runnable);
    p->count.spawned.add();
    g->since_ns = p->now_ns;
}

[[gnu::always_inline]] inline void start_here(M* m, G* g) noexcept {
    note_start(m, g);
    push_next(m, g);
}

}  // namespace

namespace {

void start_from_outside(scheduler& s, G* g) noexcept {
    g->since_ns = os::monotonic_ns();
    g->set_state(g_state::dead, g_state::runnable);
    s.external_spawns.fetch_add(1, relaxed_count);
    push_outside(g);
}

}  // namespace

// g was made by a member of a weft::runtime.
[[gnu::noinline, gnu::cold]] static void tell_simulation(const G& g) {
    simulation* sim = current_simulation();
    if (sim != nullptr && sim->runtimes() != nullptr) sim->runtimes()->starts(g);
}

spawning spawn_begin(scheduler* s, const spawn_options* options, const entry_type& entry, source_location where) {
    if (s != nullptr && is_from_before_fork(*s)) [[unlikely]]
        fatal_in_child("a runtime of the parent was");
    M* m = current_g_m();
    spawn_resources things(entry);
    if (options != nullptr) [[unlikely]] {
        check_priority(options->priority);
        things.add(*options, m == nullptr ? nullptr : m->g);
        m = current_g_m();  // read again: we may have parked
    }
    if (m == nullptr && is_in_hook()) [[unlikely]]
        fatal_in_hook("started a green thread");
    const bool by_runtime = s != nullptr;
    if (s == nullptr) {
        s = m != nullptr ? m->home : &pin_default_scheduler();
    } else if (m == nullptr || m->home != s) {
        s->pin();
    }
    const bool local = m != nullptr && m->home == s;

    G* g = nullptr;
    uint64_t id = 0;
    if (local && (options == nullptr || options->stack_size == 0)) [[likely]] {
        if (enter(m)) [[likely]] {
            g = take_quickly(m);
            id = next_id(*s, m->p);
        }
        leave(m);
    }
    if (g == nullptr) [[unlikely]] {
        if (id == 0) id = id_from_outside(*s);
        try {
            g = take_slowly(*s, local, options == nullptr ? 0 : options->stack_size);
        } catch (...) {
            if (!local) s->unpin();
            throw;
        }
    }
    fill_in_for(m, *s, g, id, entry, where);
    if (options != nullptr) [[unlikely]]
        apply_options(g, *options);
    things.give_to(g);
    if (by_runtime && simulates()) [[unlikely]]
        tell_simulation(*g);
    return {g, g->closure()};
}

bool can_spawn_on_g0(M* m) noexcept {
    P* p = m->p;
    while (p->credits == 0 || p->dead_gs.size() == 0) {
        refill got(*m->home);
        if (got.error != 0 || got.no_gs) return false;
        got.give_to(p);
    }
    return true;
}

G* spawn_on_g0(M* m, const entry_type& entry, source_location where, uint64_t parent) noexcept {
    G* g = take_quickly(m);
    fill_in(*m->home, g, next_id(*m->home, m->p), parent, entry, where);
    return g;
}

void spawn_commit(G* g) noexcept {
    M* m = current_g_m();
    scheduler& s = *g->home;
    if (m == nullptr || m->home != &s) [[unlikely]] {
        start_from_outside(s, g);
        s.unpin();
        return;
    }
    if (enter(m)) [[likely]] {
        start_here(m, g);
        leave(m);
        return;
    }
    leave(m);
    start_from_outside(s, g);
}

void spawn_commit_last(G* g) noexcept {
    M* m = current_g_m();
    if (m == nullptr || m->home != g->home) return spawn_commit(g);
    if (!enter(m)) {
        leave(m);
        return start_from_outside(*g->home, g);
    }
    note_start(m, g);
    push_last(m, g);
    leave(m);
}

void spawn_copy(const entry_type& entry, const void* closure, source_location where) {
    M* m = current_g_m();
    if (!sanitized && m != nullptr) [[likely]] {
        G* g = enter(m) ? take_quickly(m) : nullptr;
        if (g != nullptr) [[likely]] {
            fill_in_for(m, *m->home, g, next_id(*m->home, m->p), entry, where);
            copy_words(g->closure_storage, closure, entry.size);
            start_here(m, g);
            leave(m);
            return;
        }
        leave(m);
    }
    const spawning made = spawn_begin(nullptr, nullptr, entry, where);
    std::memcpy(made.closure, closure, entry.size);
    spawn_commit(made.g);
}

void spawn_waiting(G* g, waiter& w, wait_queue& queue, guarded_word& lock, uint32_t bits, wait_reason reason) noexcept {
    M* m = current_g_m();
    scheduler& s = *g->home;
    const bool local = m != nullptr && m->home == &s;
    g->reason = reason;
    g->waiting = &w;
    w.g = g;
    w.lock = &lock;
    queue.push_back(w);
    if (simulates()) [[unlikely]]
        if (simulation* sim = current_simulation()) sim->made(g);
    const bool has_p = local && enter(m);
    if (has_p) {
        m->p->count.spawned.add();
        m->p->count.parks.add();
        g->since_ns = m->p->now_ns;
        g->last_p = static_cast<uint16_t>(m->p->index);
    } else {
        s.external_spawns.fetch_add(1, relaxed_count);
    }
    if (local) leave(m);
    g->set_state(g_state::dead, g_state::waiting);
    lock.unlock_bits(bits);  // from here g may run and end
    if (!local) s.unpin();
}

void wait_is_over() noexcept { current_m()->g->waiting = nullptr; }

[[gnu::noinline]] static struct stack* take_stack_slowly(M* m) noexcept {
    P* p = m->p;
    p->count.stack_misses.add();
    fifo<struct stack> batch = m->home->stacks.take_reused(P::cached_stacks_max / 2);
    p->stacks.take_all(batch);
    struct stack* s = p->stacks.pop();
    return s != nullptr ? s : m->home->stacks.take();
}

void bind_stack(M* m, G* to) noexcept {
    if (to->stack != nullptr) {
        m->p->count.stack_hits.add();
        run_context_init(&to->context, to->stack->top(), &g_main, to);
        return;
    }
    struct stack* on = m->p->stacks.pop();
    if (on == nullptr) [[unlikely]] {
        on = take_stack_slowly(m);
    } else {
        m->p->count.stack_hits.add();
    }
    start_on(to, on);
}

}  // namespace weft::detail
