// dump.cc: writes what every green thread is doing to a file descriptor.
//
// Stacks are read while their Gs are frozen: see sched/freeze.h.
#include "debug/dump.h"

#include <unistd.h>

#include <weft/debug.h>
#include <weft/runtime.h>

#include "debug/stack_use.h"
#include "lifecycle/crash.h"
#include "os/os.h"
#include "os/signals.h"
#include "per_g/labels.h"
#include "sched/freeze.h"
#include "sched/scheduler.h"
#include "sched/switch.h"

namespace weft {

namespace detail {

namespace {

constexpr int batch_size = 8;  // on the caller's stack
constexpr int frames_max = 32;
constexpr std::size_t places_shown = 16;
constexpr std::size_t labels_max = 160;

}  // namespace

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

namespace {

void print_since(report& out, int64_t since_ns, int64_t now_ns) noexcept {
    if (since_ns == 0 || since_ns > now_ns) return;
    const int64_t ms = (now_ns - since_ns) / 1'000'000;
    if (ms >= 60'000) {
        out.print(", %lld minutes", static_cast<long long>(ms / 60'000));
    } else if (ms >= 1'000) {
        out.print(", %lld s", static_cast<long long>(ms / 1'000));
    } else {
        out.print(", %lld ms", static_cast<long long>(ms));
    }
}

// The function that calls g's closure, or the closure's first word.
WEFT_NO_SANITIZE const void* entry_of(const G& g) noexcept {
    if (g.entry->end_early == nullptr) return reinterpret_cast<const void*>(g.entry->run);
    return *reinterpret_cast<void* const volatile*>(g.closure_storage);
}

constexpr int answer_max = 32;

struct answered_frames {
    const struct stack* on;
    const void* low;
    const void* high;
    int count = 0;
    const void* pcs[answer_max];

    // Runs in the signal handler.
    static void look(void* self, const os::fault& where) noexcept {
        auto& a = *static_cast<answered_frames*>(self);
        if (where.address < a.low || where.address >= a.high) return;  // it has left that stack
        a.count = read_frames(where.pc, where.fp, where.address, *a.on, a.pcs, answer_max);
    }
};

WEFT_NO_SANITIZE const struct stack* stack_of(const G& g) noexcept {
    return __atomic_load_n(&g.stack, __ATOMIC_RELAXED);
}

WEFT_NO_SANITIZE uint64_t id_of(const G& g) noexcept { return __atomic_load_n(&g.id, __ATOMIC_RELAXED); }

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
        if (a.count != 0) return nullptr;
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

namespace {

void print_thread(report& out, const char* what, const runner& r) noexcept {
    out.print("    (%s on thread %d, %s P%u)\n", what, r.tid, r.has_p ? "with" : "without its", r.p);
}

}  // namespace

void print_running(report& out, scheduler& s, const G& g, uint64_t id) noexcept {
    runner r;
    if (!find_runner(s, &g, r)) {
        out.print("    (running; its stack cannot be read now)\n");
        return;
    }
    print_thread(out, "running", r);
    if (r.tid == os::current_tid()) {
        out.own_backtrace(answer_max);
        return;
    }
    answered_frames a{};
    if (const char* why = ask_for_frames(g, id, r, a)) {
        out.print("    (its stack: %s)\n", why);
        return;
    }
    out.frames(a.pcs, a.count, a.count == answer_max);
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

namespace {

// Taken while the G is frozen, or runs.
struct sketch {
    identity who;
    g_state state = g_state::dead;
    wait_reason reason = wait_reason::none;
    int64_t since_ns = 0;
    bool never_ran = false;
    bool labelled = false;
    uint32_t flags = 0;
    int frames = 0;
    const void* pcs[frames_max];
    char labels[labels_max];

    WEFT_NO_SANITIZE void take(const G& g) noexcept {
        state = g.state.load(acquire);  // pairs with set_state: context and stack are as the G left them
        if (state == g_state::idle) state = g_state::dead;
        if (state == g_state::dead) return;
        if (!who.read(g)) {
            state = g_state::dead;
            return;
        }
        reason = g.reason;
        flags = g.special.load(relaxed_count);
        labelled = describe_labels(g, labels, sizeof(labels));
        since_ns = g.since_ns;
        never_ran = g.never_ran();
        frames = 0;
        if (state == g_state::running || never_ran) return;
        // Below the stack pointer, a thread's own stack may be unmapped.
        frames = read_frames(g.context.pc, g.context.fp, g.context.sp, *g.stack, pcs, frames_max);
    }

    void print(report& out, scheduler& s, const G& g, int64_t now_ns) const noexcept {
        if (state == g_state::dead) return;
        out.print("green thread %llu", static_cast<unsigned long long>(who.id));
        if (who.name[0] != '\0') out.print(" \"%s\"", who.name);
        out.print(" [%s", state == g_state::waiting ? text(reason) : text(state));
        if (state == g_state::waiting || state == g_state::runnable) print_since(out, since_ns, now_ns);
        out.print(", P%u", static_cast<unsigned>(who.last_p));
        if ((flags & special::high) != 0) out.print(", high");
        if ((flags & special::low) != 0) out.print(", low");
        if ((flags & special::pinned) != 0) out.print(", pinned");
        out.print("]:\n");
        if (state == g_state::running) {
            print_running(out, s, g, who.id);
        } else if (never_ran) {
            out.print("    (not started)\n");
        } else {
            runner r;
            if (state == g_state::in_call && find_runner(s, &g, r)) print_thread(out, "in a call", r);
            out.frames(pcs, frames, frames == frames_max);
        }
        if (labelled) out.print("    labels %s\n", labels);
        out.print("    entry ");
        out.frame(0, who.entry);
        if (who.parent != 0) {
            out.print("    started by green thread %llu", static_cast<unsigned long long>(who.parent));
        } else {
            out.print("    started by a plain thread");
        }
        out.print(" at %s:%u, in %s\n\n", who.where.file_name(), static_cast<unsigned>(who.where.line()),
                  who.where.function_name());
    }
};

}  // namespace

void print_queued(report& out, const G& g, uint64_t id) noexcept {
    G* one = const_cast<G*>(&g);  // only to freeze it
    sketch seen;
    {
        const frozen still(&one, 1);
        seen.take(*one);
    }
    if (seen.state != g_state::runnable || seen.who.id != id) {
        out.print("    (no longer runnable)\n");
    } else if (seen.never_ran) {
        out.print("    (not started)\n");
    } else {
        out.frames(seen.pcs, seen.frames, seen.frames == frames_max);
    }
}

namespace {

class frozen_batch {
public:
    frozen_batch(report& out, scheduler& s) noexcept : out_(out), s_(s), now_ns_(os::monotonic_ns()) {}

    void add(G& g) noexcept {
        gs_[count_++] = &g;
        if (count_ == batch_size) print();
    }

    void print() noexcept {
        {
            const frozen still(gs_, static_cast<uint32_t>(count_));
            for (int i = 0; i < count_; ++i) sketches_[i].take(*gs_[i]);
        }
        for (int i = 0; i < count_; ++i) let_arrive(i);
        for (int i = 0; i < count_ && out_.goes_on(); ++i) sketches_[i].print(out_, s_, *gs_[i], now_ns_);
        count_ = 0;
    }

private:
    // A running G on no thread is about to wait, or to run on one, but its thread may be
    // descheduled.
    void let_arrive(int i) noexcept {
        constexpr int64_t pause_ns = 200'000;
        while (pauses_left_ > 0 && sketches_[i].state == g_state::running) {
            runner r;
            if (find_runner(s_, gs_[i], r)) return;
            --pauses_left_;
            os::sleep_ns(pause_ns);
            const frozen still(&gs_[i], 1);
            sketches_[i].take(*gs_[i]);
        }
    }

    report& out_;
    scheduler& s_;
    int64_t now_ns_;
    int pauses_left_ = 25;  // for the whole dump: 5 ms
    int count_ = 0;
    G* gs_[batch_size];
    sketch sketches_[batch_size];
};

void print_stack_use(report& out, scheduler& s) noexcept {
    measure_live(s, &out);
    if (!out.goes_on()) return;
    stack_use_at deepest[places_shown];
    const std::size_t count = s.places.copy(deepest);
    if (count != 0) out.print("stack use by the place that starts the green threads, deepest first:\n");
    for (std::size_t i = 0; i < count && i < places_shown; ++i) {
        const stack_use_at& row = deepest[i];
        out.print("    %zu KiB touched, %zu bytes while waiting, in %llu measurements: %s:%u, in %s\n",
                  (row.touched + 1023) / 1024, row.waiting, static_cast<unsigned long long>(row.measured),
                  row.where.file_name(), static_cast<unsigned>(row.where.line()), row.where.function_name());
    }
    if (count > places_shown) out.print("    (%zu more)\n", count - places_shown);
}
}  // namespace

void dump_scheduler(scheduler& s, int fd, monitor* writer) noexcept {
    report out(fd, writer == nullptr ? report::patience::endless : report::patience::while_read, writer);
    out.print("weft: runtime \"%s\", %u Ps (%u idle), %u threads (%u idle)\n\n", s.name.c_str(), s.ps.in_use(),
              s.idle.ps.count(), s.thread_count.load(relaxed_count), s.idle.ms.count.load(relaxed_count));
    frozen_batch batch(out, s);
    s.gs.for_each([&](G& g) {
        if (g.state.load(relaxed_hint) == g_state::dead || !out.goes_on()) return;
        batch.add(g);
    });
    batch.print();
    print_stack_use(out, s);
}

}  // namespace detail

void dump(int fd) noexcept {
    const detail::M* m = detail::current_g_m();
    if (m != nullptr) {
        detail::dump_scheduler(*m->home, fd);
        return;
    }
    detail::scheduler* s = detail::pin_default_scheduler_if_any();
    if (s == nullptr) {
        detail::report(fd).print("weft: no runtime has been started, so there is nothing to dump\n");
        return;
    }
    detail::dump_scheduler(*s, fd);
    s->unpin();
}

void runtime::dump(int fd) const noexcept {
    const detail::runtime_use s = use();
    if (s != nullptr) detail::dump_scheduler(*s, fd);
}

}  // namespace weft
