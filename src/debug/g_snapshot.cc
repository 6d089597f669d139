// g_snapshot.cc: see g_snapshot.h.
#include "debug/g_snapshot.h"

#include <atomic>

#include "os/os.h"
#include "os/signals.h"
#include "os/unwind.h"
#include "per_g/labels.h"
#include "sched/freeze.h"
#include "sched/scheduler.h"
#include "sched/switch.h"
#include "stack/read_frames.h"

namespace weft::detail {

const char* text(g_state state) noexcept {
    switch (state) {
        case g_state::idle:
            return "idle";
        case g_state::runnable:
            return "runnable";
        case g_state::running:
            return "running";
        case g_state::in_call:
            return "in call";
        case g_state::waiting:
            return "waiting";
        case g_state::dead:
            return "dead";
    }
    return "?";
}

const char* text(wait_reason reason) noexcept {
    switch (reason) {
        case wait_reason::none:
            return "waiting";
        case wait_reason::chan_receive:
            return "chan receive";
        case wait_reason::chan_send:
            return "chan send";
        case wait_reason::chan_receive_nil:
            return "chan receive (nil chan)";
        case wait_reason::chan_send_nil:
            return "chan send (nil chan)";
        case wait_reason::mutex_lock:
            return "mutex lock";
        case wait_reason::wait_group_wait:
            return "wait group";
        case wait_reason::future_get:
            return "future";
        case wait_reason::sleep:
            return "sleep";
        case wait_reason::start:
            return "start";
        case wait_reason::select:
            return "select";
        case wait_reason::select_no_cases:
            return "select (no cases)";
        case wait_reason::shared_mutex_lock:
            return "shared mutex lock";
        case wait_reason::shared_mutex_lock_shared:
            return "shared mutex lock shared";
        case wait_reason::condition_wait:
            return "condition wait";
        case wait_reason::semaphore_acquire:
            return "semaphore acquire";
        case wait_reason::latch_wait:
            return "latch wait";
        case wait_reason::barrier_wait:
            return "barrier wait";
        case wait_reason::once:
            return "call once";
        case wait_reason::event_wait:
            return "event wait";
        case wait_reason::single_flight:
            return "single flight";
        case wait_reason::scope_join:
            return "scope join";
        case wait_reason::timer:
            return "timer";
        case wait_reason::fd_readable:
            return "I/O read";
        case wait_reason::fd_writable:
            return "I/O write";
        case wait_reason::select_fd:
            return "select (I/O)";
        case wait_reason::file_operation:
            return "file";
        case wait_reason::process_end:
            return "process";
    }
    return "?";
}

WEFT_NO_SANITIZE uint64_t id_of(const G& g) noexcept { return __atomic_load_n(&g.id, __ATOMIC_RELAXED); }

namespace {

// The function that calls g's closure, or the closure's first word.
WEFT_NO_SANITIZE const void* entry_of(const G& g) noexcept {
    if (g.entry->end_early == nullptr) return reinterpret_cast<const void*>(g.entry->run);
    return *reinterpret_cast<void* const volatile*>(g.closure_storage);
}

struct answered_frames {
    const struct stack* on;
    const void* low;
    const void* high;
    stack_frames frames;

    // Runs in the signal handler.
    static void look(void* self, const os::fault& where) noexcept {
        auto& a = *static_cast<answered_frames*>(self);
        if (where.address < a.low || where.address >= a.high) return;  // it has left that stack
        a.frames.count = read_frames(where.pc, where.fp, where.address, *a.on, a.frames.pcs, stack_frames::max);
    }
};

WEFT_NO_SANITIZE const struct stack* stack_of(const G& g) noexcept {
    return __atomic_load_n(&g.stack, __ATOMIC_RELAXED);
}

// Returns nullptr, or why there are no frames.
const char* ask_for_frames(const G& g, uint64_t id, const runner& r, answered_frames& a) noexcept {
    constexpr int attempts = 3;
    constexpr int64_t pause_ns = 1'000'000;
    if (!os::questions_enabled()) return "not read; to read it: RUN_DEBUG=dumpsignal=NAME or watchdog=MS";
    const struct stack* s = stack_of(g);
    if (s == nullptr) return "it has just started";
    if (!os::thread_wants_cpu(r.tid)) return "blocked in a system call, which a signal could interrupt";
    a.on = s;
    a.low = s->low;
    a.high = s->high();
    for (int i = 0; i < attempts; ++i) {
        if (!os::ask_thread(r.tid, &answered_frames::look, &a)) return "its thread did not answer";
        if (id_of(g) != id) break;
        if (a.frames.count != 0) return nullptr;
        os::sleep_ns(pause_ns);  // it may be in a signal handler of the program
    }
    return "the green thread no longer runs there";
}

}  // namespace

bool lock_soon(spin_lock& lock) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    constexpr int attempts = 200;
    for (int i = 0; i < attempts; ++i) {
        uint32_t free = 0;
        // acquire: as lock(); relaxed: tried again
        if (lock.word().compare_exchange_strong(free, spin_lock::guard, acquire, relaxed)) return true;
        if (i % 4 == 0) {
            os::yield_thread();
        } else {
            os::cpu_relax();
        }
    }
    return false;
}

WEFT_NO_SANITIZE m_snapshot::m_snapshot(const M& m) noexcept {
    g = __atomic_load_n(&m.g, __ATOMIC_RELAXED);
    lent_by = __atomic_load_n(&m.lent_by, __ATOMIC_RELAXED);
    pinned = __atomic_load_n(&m.pinned, __ATOMIC_RELAXED);
    p = __atomic_load_n(&m.p, __ATOMIC_RELAXED);
    spinning = __atomic_load_n(&m.spinning, __ATOMIC_RELAXED);
    has_p = p != nullptr && (p->owner.load(relaxed_count) & ~attention::mask) == reinterpret_cast<uintptr_t>(&m);
}

WEFT_NO_SANITIZE bool find_runner(scheduler& s, const G* g, runner& r) noexcept {
    if (!lock_soon(s.threads_lock)) return false;
    bool found = false;
    for (const M* m = s.all_ms; m != nullptr && !found; m = m->all_next) {
        const m_snapshot now(*m);
        if (now.g != g && now.lent_by != g) continue;
        found = true;
        r = {m->index, m->tid(), now.has_p, now.p == nullptr ? 0 : now.p->index};
    }
    s.threads_lock.unlock();
    return found;
}

WEFT_NO_SANITIZE bool identity::read(const G& g) noexcept {
    id = g.id;
    parent = g.parent;
    entry = entry_of(g);
    where = g.where;
    last_p = g.last_p;
    const volatile char* from = g.name;  // byte by byte: sanitizers instrument library calls
    const std::size_t most = (g.traits & trait::named) != 0 ? G::name_size - 1 : 0;
    std::size_t length = 0;
    for (; length < most && from[length] != '\0'; ++length) name[length] = from[length];
    name[length] = '\0';
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const g_state state = g.state.load(acquire);  // pairs with set_state
    return state != g_state::dead && *static_cast<const volatile uint64_t*>(&g.id) == id;
}

void identity::print(report& out) const noexcept {
    out.print("green thread %llu", static_cast<unsigned long long>(id));
    if (name[0] != '\0') out.print(" \"%s\"", name);
    if (parent != 0) {
        out.print(" (started by %llu", static_cast<unsigned long long>(parent));
    } else {
        out.print(" (started by a plain thread");
    }
    out.print(" at %s:%u, in %s)", where.file_name(), static_cast<unsigned>(where.line()), where.function_name());
}

WEFT_NO_SANITIZE void g_snapshot::take(const G& g) noexcept {
    state = g.state.load(acquire);  // pairs with set_state: context and stack are as the G left them
    if (state == g_state::idle) state = g_state::dead;
    if (state == g_state::dead) return;
    if (!who.read(g)) {
        state = g_state::dead;
        return;
    }
    reason = g.reason;
    flags = g.special.load(relaxed_count) & (special::high | special::low | special::pinned);
    has_labels = describe_labels(g, labels, sizeof(labels));
    since_ns = g.since_ns;
    never_ran = g.never_ran();
    has_runner = false;
    no_frames = nullptr;
    frames.count = 0;
    if (state == g_state::running || never_ran) return;
    // Below the stack pointer, a thread's own stack may be unmapped.
    frames.count = read_frames(g.context.pc, g.context.fp, g.context.sp, *g.stack, frames.pcs, stack_frames::max);
}

namespace {

void read_own_frames(stack_frames& into) noexcept {
    into.count = 0;
    os::for_each_own_frame(
        [](void* closure, const void* pc) {
            auto& frames = *static_cast<stack_frames*>(closure);
            frames.pcs[frames.count++] = pc;
            return frames.count < stack_frames::max;
        },
        &into);
}

}  // namespace

void g_snapshot::find_thread(scheduler& s, const G& g) noexcept {
    if (state != g_state::running && state != g_state::in_call) return;
    has_runner = find_runner(s, &g, on);
    if (state == g_state::in_call || !has_runner) return;
    if (on.tid == os::current_tid()) {
        read_own_frames(frames);
        return;
    }
    answered_frames answer{};
    no_frames = ask_for_frames(g, who.id, on, answer);
    frames = answer.frames;
}

namespace {

void print_thread(report& out, const char* what, const runner& r) noexcept {
    out.print("    (%s on thread %d, %s P%u)\n", what, r.tid, r.has_p ? "with" : "without its", r.p);
}

}  // namespace

void g_snapshot::print_stack(report& out) const noexcept {
    if (never_ran && state != g_state::running) {
        out.print("    (not started)\n");
        return;
    }
    if (state == g_state::running && !has_runner) {
        out.print("    (running; its stack cannot be read now)\n");
        return;
    }
    if (has_runner) print_thread(out, state == g_state::running ? "running" : "in a call", on);
    if (no_frames != nullptr) {
        out.print("    (its stack: %s)\n", no_frames);
        return;
    }
    out.frames(frames.pcs, frames.count,
               {.cut = frames.count == stack_frames::max, .parked = state == g_state::waiting});
}

void print_running(report& out, scheduler& s, const G& g, uint64_t id) noexcept {
    g_snapshot seen;
    seen.state = g_state::running;
    seen.who.id = id;
    seen.find_thread(s, g);
    seen.print_stack(out);
}

void print_queued(report& out, const G& g, uint64_t id) noexcept {
    G* one = const_cast<G*>(&g);  // only to freeze it
    g_snapshot seen;
    {
        const frozen still(&one, 1);
        seen.take(*one);
    }
    if (seen.state != g_state::runnable || seen.who.id != id) {
        out.print("    (no longer runnable)\n");
    } else {
        seen.print_stack(out);
    }
}

}  // namespace weft::detail
